//! Every example prints exactly what `examples/expected` says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// No example takes longer than this; one that does hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The examples by name. Cargo has built them already if all tests are run, and says where.
static EXECUTABLES: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(|| {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--examples", "--quiet", "--message-format=json"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = built.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    messages.filter_map(executable).collect()
});

/// What a message of cargo's says of an example, if it is about one.
fn executable(message: &[u8]) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_slice(message).expect("cargo writes JSON");
    let target = &message["target"];
    let path = message["executable"].as_str()?;
    let name = target["name"].as_str()?.to_owned();
    (target["kind"][0] == "example").then_some((name, path.into()))
}

/// A running example; killed if the test fails meanwhile.
struct Running {
    name: &'static str,
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(name: &'static str, arguments: &[&str]) -> Self {
        let mut command = Command::new(&EXECUTABLES[name]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.expect("it prints UTF-8")).is_err() {
                    break;
                }
            }
        });
        Self { name, child, lines }
    }

    fn next_line(&self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{} hangs", self.name),
        }
    }

    /// All that it prints behind `printed`, once it has ended well.
    fn end(mut self, mut printed: String) -> String {
        while let Some(line) = self.next_line() {
            printed += &line;
            printed.push('\n');
        }
        let status = self.child.wait().expect("it is our child");
        let mut complaint = String::new();
        let mut stderr = self.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut complaint).expect("it prints UTF-8");
        assert!(status.success(), "{}: {status}\n{printed}{complaint}", self.name);
        printed
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn assert_expected(name: &str, printed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/expected/{name}.txt"));
    let expected = std::fs::read_to_string(&path).expect("every example has its expected output");
    assert_eq!(printed, expected, "{name} prints something else");
}

fn runs_as_expected(name: &'static str) {
    let printed = Running::start(name, &[]).end(String::new());
    assert_expected(name, &printed);
}

#[test]
fn hello_prints_what_is_expected() {
    runs_as_expected("hello");
}

#[test]
fn callback_prints_what_is_expected() {
    runs_as_expected("callback");
}

#[test]
fn handoff_prints_what_is_expected() {
    runs_as_expected("handoff");
}

#[test]
fn lifetime_prints_what_is_expected() {
    runs_as_expected("lifetime");
}

#[test]
fn client_and_server_print_what_is_expected() {
    let server = Running::start("server", &["--once", "tcp://127.0.0.1:0"]);
    let first = server.next_line().expect("the server says where it is");
    let address = first.strip_prefix("open at ").expect("the first line is the address");
    let port = address.rsplit([':', '/']).nth(1).expect("a port stands before the name");
    let printed = format!("{}\n", first.replace(port, "PORT"));

    let client = Running::start("client", &[address]);
    assert_expected("client", &client.end(String::new()));
    assert_expected("server", &server.end(printed));
}

#[test]
fn every_expected_output_has_its_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/expected");
    let names = std::fs::read_dir(folder).expect("the folder exists").map(|file| {
        let path = file.expect("it can be read").path();
        path.file_stem().expect("it has a name").to_string_lossy().into_owned()
    });
    let names: Vec<_> = names.collect();
    assert!(names.iter().all(|name| EXECUTABLES.contains_key(name)), "{names:?}");
    assert_eq!(names.len(), EXECUTABLES.len(), "an example lacks its expected output");
}
