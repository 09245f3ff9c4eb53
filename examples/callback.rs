//! An object calls back a node that has no listener, over the connection which that node made.
//!
//! `cargo run --example callback`

use std::sync::Mutex;

use rmi::{Node, Result, remote};

mod until;

/// Whoever wants to know of new readings.
#[remote]
trait Listener {
    async fn measured(&self, degrees: i32) -> Result<()>;
}

/// Tells its listeners what it measures.
#[remote]
trait Station {
    async fn listen(&self, listener: ListenerRef) -> Result<()>;
    async fn stop_listening(&self, listener: ListenerRef) -> Result<()>;
    async fn measure(&self, degrees: i32) -> Result<()>;
}

#[derive(Default)]
struct Roof {
    listeners: Mutex<Vec<ListenerRef>>,
}

impl Station for Roof {
    async fn listen(&self, listener: ListenerRef) -> Result<()> {
        self.listeners.lock().unwrap().push(listener);
        Ok(())
    }

    async fn stop_listening(&self, listener: ListenerRef) -> Result<()> {
        // References are equal if they refer to the same object.
        self.listeners.lock().unwrap().retain(|known| *known != listener);
        Ok(())
    }

    async fn measure(&self, degrees: i32) -> Result<()> {
        let listeners = self.listeners.lock().unwrap().clone();
        for listener in listeners {
            listener.measured(degrees).await?;
        }
        Ok(())
    }
}

struct Display;

impl Listener for Display {
    async fn measured(&self, degrees: i32) -> Result<()> {
        println!("  the display shows {degrees} °C");
        Ok(())
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        println!("the display is switched off");
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let home = Node::builder().listen("tcp://127.0.0.1:0").start().await?;
    let roof: StationRef = home.export(Roof::default());
    home.bind("station", &roof)?;

    let phone = Node::builder().start().await?;
    println!("the phone listens at {:?}", phone.endpoint());
    let endpoint = home.endpoint().expect("it listens");
    let station: StationRef = phone.lookup(format!("{endpoint}/station")).await?;

    let display: ListenerRef = phone.export(Display);
    station.listen(display.clone()).await?;
    println!("the station measures by itself");
    roof.measure(18).await?;
    println!("the phone has it measure, and is called back meanwhile");
    station.measure(21).await?;

    station.stop_listening(display.clone()).await?;
    println!("nobody listens");
    station.measure(24).await?;

    drop(display);
    until::until(|| phone.gc().snapshot().exports.is_empty()).await;
    home.unbind("station");
    drop((roof, station));
    until::until(|| home.gc().snapshot().is_empty() && phone.gc().snapshot().is_empty()).await;
    println!("nothing is shared any more");
    Ok(())
}
