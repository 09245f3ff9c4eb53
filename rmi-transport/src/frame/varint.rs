//! Integers that are usually small: seven bits a byte, the low ones first, the high bit set on
//! all bytes but the last. Each value has one form only.

/// The longest form.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes `value` takes.
pub(crate) fn size(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Why bytes are not a varint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// They end within it.
    Truncated,
    /// It is longer than it needs to be, or holds more than 64 bits.
    Bad,
}

/// Reads the varint that `bytes` begins with; it says how long that is, too.
pub(crate) fn read(bytes: &[u8]) -> Result<(u64, usize), Malformed> {
    // Nearly all of them are of this kind.
    if let Some(byte) = bytes.first().filter(|byte| **byte < 0x80) {
        return Ok((u64::from(*byte), 1));
    }
    let mut value = 0;
    for (position, byte) in bytes.iter().copied().take(VARINT_BYTES_MAX).enumerate() {
        let bits = u64::from(byte & 0x7f);
        let shift = position * 7;
        if (bits << shift) >> shift != bits {
            return Err(Malformed::Bad);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            let overlong = byte == 0 && position > 0;
            return if overlong { Err(Malformed::Bad) } else { Ok((value, position + 1)) };
        }
    }
    if bytes.len() < VARINT_BYTES_MAX { Err(Malformed::Truncated) } else { Err(Malformed::Bad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_form_of_the_announced_size() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in edges.chain([u64::MAX]) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(bytes.len(), size(value), "{value}");
            assert_eq!(read(&bytes), Ok((value, bytes.len())), "{value}");
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut]), Err(Malformed::Truncated), "{value} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_form_that_is_too_long_or_too_large_is_refused() {
        for (name, bytes) in [
            ("zero in two bytes", &[0x80, 0x00][..]),
            ("one in three bytes", &[0x81, 0x80, 0x00]),
            ("65 bits", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]),
            ("eleven bytes", &[0x80; 11]),
            ("ten bytes that go on", &[0xff; 10]),
        ] {
            assert_eq!(read(bytes), Err(Malformed::Bad), "{name} (W1)");
        }
    }
}
