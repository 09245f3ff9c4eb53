//! Waiting for what other nodes do in their own time.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// Releases travel within a few dozen milliseconds; this is for machines with much else to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `condition` holds.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    let mut looks = interval(Duration::from_millis(1));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let holds = async {
        while !condition() {
            looks.tick().await;
        }
    };
    timeout(PATIENCE, holds).await.expect("what is waited for comes to pass");
}
