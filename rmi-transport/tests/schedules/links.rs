//! Whoever sends, drives, cuts, attaches and closes, and in whatever order: every frame arrives
//! once, and nobody waits for ever.

use std::sync::Arc;

use bytes::Bytes;
use rmi_transport::sync::explore::{explore, must_fail, wires};
use shuttle::thread::{self, JoinHandle};

use crate::ends::{End, Ends, Fault};

const SCHEDULES: usize = 3_000;
/// More than any test sends.
const AMPLE: usize = 1 << 16;
/// Less than one frame.
const SCANT: usize = 5;
/// By each sender.
const FRAMES: u8 = 2;

/// A thread that sends frames which say who sent them.
fn sender(end: &Arc<End>, name: u8) -> JoinHandle<()> {
    let end = Arc::clone(end);
    thread::spawn(move || {
        for number in 0..FRAMES {
            end.send(&[name, number]);
        }
    })
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("it does not panic")
}

/// Every sender's frames are there, in the order in which it sent them.
fn assert_complete(received: &[Bytes], senders: &[u8]) {
    for name in senders {
        let of_one = received.iter().filter(|frame| frame.first() == Some(name));
        let numbers: Vec<_> = of_one.filter_map(|frame| frame.get(1).copied()).collect();
        assert_eq!(numbers, Vec::from_iter(0..FRAMES), "of sender {name}");
    }
}

/// Two threads send from the near end and one from the far end, while the wire is lost
/// so many times.
fn exchange(ends: &Ends, cuts: usize) {
    let [near, far] = &ends.ends;
    let serving = ends.serve();
    let senders = [sender(near, 1), sender(near, 2), sender(far, 3)];
    (0..cuts).for_each(|_| ends.cut());
    senders.into_iter().for_each(join);
    let frames = usize::from(FRAMES);
    assert_complete(&far.until_received(2 * frames), &[1, 2]);
    assert_complete(&near.until_received(frames), &[3]);
    ends.close();
    serving.end();
    // A cut may come between two wires.
    let connections = ends.connections();
    assert!(connections <= 1 + cuts, "{connections} connections for {cuts} cuts");
}

#[test]
fn frames_of_several_threads_arrive_once_and_in_order() {
    explore(SCHEDULES, || exchange(&Ends::new(AMPLE), 0));
}

#[test]
fn what_a_full_wire_leaves_over_is_written_once_there_is_room() {
    explore(SCHEDULES, || exchange(&Ends::new(SCANT), 0));
}

#[test]
fn a_wire_that_is_lost_loses_no_frame_and_repeats_none() {
    explore(SCHEDULES, || exchange(&Ends::new(AMPLE), 1));
}

#[test]
fn a_full_wire_that_is_lost_loses_no_frame_and_repeats_none() {
    explore(SCHEDULES, || exchange(&Ends::new(SCANT), 1));
}

#[test]
fn wires_may_be_lost_one_after_the_other() {
    explore(SCHEDULES, || {
        exchange(&Ends::new(SCANT), 2);
    });
}

#[test]
fn a_close_ends_everybody_whatever_they_are_about() {
    explore(SCHEDULES, || {
        let ends = Ends::new(SCANT);
        let [near, far] = &ends.ends;
        let serving = ends.serve();
        let mut threads = vec![sender(near, 1), sender(far, 2)];
        let cutting = ends.clone();
        threads.push(thread::spawn(move || cutting.cut()));
        ends.close();
        threads.into_iter().for_each(join);
        serving.end();
        for end in &ends.ends {
            assert!(end.link.is_closed() && !end.send(&[0]), "it is closed for ever");
            assert_eq!((end.link.bytes_unsent(), end.link.bytes_unacknowledged()), (0, 0));
        }
    });
}

#[test]
fn of_two_that_attach_a_wire_at_once_one_is_first() {
    explore(SCHEDULES, || {
        let ends = Ends::new(AMPLE);
        let [near, _] = &ends.ends;
        let attaching = || {
            let near = Arc::clone(near);
            thread::spawn(move || {
                let [wire, _far] = wires(AMPLE);
                near.link.attach(wire, Default::default(), 0, 0).is_ok()
            })
        };
        let (one, other) = (attaching(), attaching());
        assert!(join(one) ^ join(other));
    });
}

#[test]
fn a_driver_that_keeps_half_a_frame_over_a_loss_is_noticed() {
    must_fail(|| exchange(&Ends::with(SCANT, Some(Fault::KeepsHalves)), 1));
}

#[test]
fn a_sender_that_numbers_in_one_step_and_writes_in_the_next_is_noticed() {
    must_fail(|| exchange(&Ends::with(AMPLE, Some(Fault::NumbersFirst)), 0));
}
