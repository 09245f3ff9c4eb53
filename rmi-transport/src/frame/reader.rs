//! Reads fields off bytes that a peer sent. Every step names the field that it is about, and
//! nothing is allocated for more than is there.

use super::decode::FrameError;
use super::varint::{self, Malformed};

/// The bytes that are still to be read.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], FrameError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(FrameError::Truncated(field))?;
        self.rest = rest;
        Ok(*array)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, FrameError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, FrameError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, FrameError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(crate) fn varint(&mut self, field: &'static str) -> Result<u64, FrameError> {
        let (value, size) = varint::read(self.rest).map_err(|malformed| match malformed {
            Malformed::Truncated => FrameError::Truncated(field),
            Malformed::Bad => FrameError::BadVarint(field),
        })?;
        self.take(size, field)?;
        Ok(value)
    }

    pub(crate) fn varint_u32(&mut self, field: &'static str) -> Result<u32, FrameError> {
        let value = self.varint(field)?;
        u32::try_from(value).map_err(|_| FrameError::OutOfRange { what: field, value })
    }

    /// A number of rows that are to follow: within `count_max`, and not more than the bytes that
    /// are left can hold, so that the caller may allocate for it.
    pub(crate) fn count(
        &mut self,
        what: &'static str,
        count_max: u32,
        row_bytes_min: usize,
    ) -> Result<usize, FrameError> {
        let count = self.varint(what)?;
        if count > u64::from(count_max) {
            return Err(FrameError::TooMany { what, count, count_max });
        }
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.left() / row_bytes_min)
            .ok_or(FrameError::Truncated(what))
    }

    pub(crate) fn text(
        &mut self,
        field: &'static str,
        bytes_max: u32,
    ) -> Result<String, FrameError> {
        let bytes = self.varint(field)?;
        if bytes > u64::from(bytes_max) {
            return Err(FrameError::TextTooLong { what: field, bytes, bytes_max });
        }
        let bytes = usize::try_from(bytes).map_err(|_| FrameError::Truncated(field))?;
        let text = std::str::from_utf8(self.take(bytes, field)?);
        text.map(str::to_owned).map_err(|_| FrameError::BadText(field))
    }

    fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], FrameError> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or(FrameError::Truncated(field))?;
        self.rest = rest;
        Ok(taken)
    }
}
