//! What `server` and `client` agree on.

use rmi::{Result, remote};
use serde::{Deserialize, Serialize};

/// Where the bank is, unless told otherwise.
pub(crate) const ENDPOINT: &str = "tcp://127.0.0.1:4747";
/// The name under which it is bound there.
pub(crate) const NAME: &str = "bank";

/// Opens accounts.
#[remote]
pub(crate) trait Bank {
    /// A new, empty account. It exists as long as somebody refers to it.
    async fn open(&self, owner: String) -> Result<AccountRef>;
}

/// An account.
#[remote]
pub(crate) trait Account {
    /// What is in it.
    async fn balance(&self) -> Result<i64>;
    /// Puts money in; the new balance.
    async fn deposit(&self, cents: i64) -> Result<i64>;
    /// Moves money to another account.
    async fn transfer(&self, to: AccountRef, cents: i64) -> std::result::Result<(), BankError>;
}

/// Why no money was moved.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum BankError {
    /// There is not that much in the account.
    Insufficient {
        /// What there is.
        balance: i64,
    },
    /// The call itself failed.
    Call(rmi::Error),
}

impl From<rmi::Error> for BankError {
    fn from(error: rmi::Error) -> Self {
        BankError::Call(error)
    }
}
