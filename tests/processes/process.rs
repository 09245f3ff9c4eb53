//! A child process, as a test sees it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::actor::ROLE;
use crate::support::PATIENCE;

/// A running process; killed when this is dropped, however the test ends.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    commands: ChildStdin,
    answers: mpsc::Receiver<String>,
    endpoint: String,
}

impl Process {
    pub(crate) fn start(name: &'static str, environment: &[(&str, &str)]) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        // Of this binary's tests, the one that plays roles.
        command.args(["a_child_process_plays_its_role", "--exact", "--nocapture"]);
        command.env(ROLE, name).envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process starts");
        let commands = child.stdin.take().expect("it is piped");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The harness prints lines of its own, and one without an end before ours.
                let Some((_, answer)) = line.split_once("> ") else { continue };
                if sender.send(answer.to_owned()).is_err() {
                    return;
                }
            }
        });
        let mut process = Process { name, child, commands, answers, endpoint: String::new() };
        process.endpoint = process.answer("starting");
        process
    }

    /// The address of what the process has bound as `name`.
    pub(crate) fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.endpoint)
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Has the process obey, and returns what it says.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        writeln!(self.commands, "{command}").expect("the process reads");
        self.answer(command)
    }

    fn answer(&self, to: &str) -> String {
        let answer = self.answers.recv_timeout(PATIENCE);
        answer.unwrap_or_else(|_| panic!("{} does not answer {to:?}", self.name))
    }

    /// Has the process obey; it has to say that it is done.
    pub(crate) fn must(&mut self, command: &str) {
        let answer = self.ask(command);
        assert!(matches!(&*answer, "done" | "true"), "{}: {command}: {answer}", self.name);
    }

    /// Asks again and again until the answer is as wanted.
    pub(crate) fn until(&mut self, command: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = std::time::Instant::now();
        loop {
            let answer = self.ask(command);
            if wanted(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < PATIENCE, "{}: {command}: still {answer}", self.name);
            thread::yield_now();
        }
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was killed");
    }

    /// SIGSTOP: the process does nothing, and nobody is told.
    pub(crate) fn stop(&self) {
        kill_process(self.pid(), Signal::STOP).expect("it runs");
    }

    /// SIGCONT.
    pub(crate) fn go_on(&self) {
        kill_process(self.pid(), Signal::CONT).expect("it runs");
    }

    fn pid(&self) -> Pid {
        let id = i32::try_from(self.child.id()).expect("a process id");
        Pid::from_raw(id).expect("a process id")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that was killed before is no error here; one that is stopped dies as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
