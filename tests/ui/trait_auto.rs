use rmi::remote;

#[remote]
auto trait Account {}

fn main() {}
