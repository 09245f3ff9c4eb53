//! The latency table: what a call costs, and what references in it add.
//!
//! `cargo bench --bench latency -- --quick`; `docs/BENCHMARKS.md` says what each figure means.

mod args;
mod checks;
mod client;
mod cluster;
mod historic;
mod interface;
mod measure;
mod median;
mod pin;
mod raw;
mod recipe;
mod report;
mod rows;
mod server;
mod statistics;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;

use self::args::{Args, Recipe};
use self::cluster::{Cluster, Subject};
use self::measure::{Effort, Pass};
use self::report::machine::Machine;
use self::report::{Measured, Report};
use self::rows::Row;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args = Args::parse();
    if let Some(role) = args.serve {
        return server::serve_as_child(role, &args);
    }
    if args.is_smoke() {
        return smoke(&args);
    }
    let machine = Machine::here();
    let effort = if args.quick { Effort::quick() } else { Effort::full() };
    println!("{}: measuring for {}", args.config.name(), effort.about());
    let mut cluster = Cluster::start(&args.config)?;
    let report = measure(&mut cluster, &args, &effort, machine)?;
    cluster.stop();
    publish(&report, &args)
}

/// One operation of each row, to see that all of it still runs.
fn smoke(args: &Args) -> Outcome<()> {
    checks::run();
    let mut cluster = Cluster::start(&args.config)?;
    for subject in Subject::all() {
        cluster.run(subject, 1, Pass::Whole)?;
        println!("{}: ok", subject.name());
    }
    measure::wire::measure(&mut cluster, Row::Ping)?;
    cluster.stop();
    Ok(())
}

fn measure(
    cluster: &mut Cluster,
    args: &Args,
    effort: &Effort,
    machine: Machine,
) -> Outcome<Report> {
    let ping = measure::wire::measure(cluster, Row::Ping)?;
    cluster.raw.set_sizes(ping.request_bytes(), ping.answer_bytes());
    let estimates = measure::estimates::measure(
        cluster,
        &Subject::all(),
        effort,
        &output_folder()?.join("criterion"),
        &args.config.slug(),
    )?;
    let mut measured = Vec::new();
    for (subject, estimate) in Subject::all().into_iter().zip(estimates) {
        println!("{}: percentiles, frames", subject.name());
        let percentiles = measure::percentiles::measure(cluster, subject, &estimate, effort)?;
        let wire = match subject {
            Subject::Row(row) => Some(measure::wire::measure(cluster, row)?),
            Subject::Raw(_) => None,
        };
        measured.push(Measured { subject, estimate, percentiles, wire, karmi: None });
    }
    println!("all rows in turn, for the ratios");
    let rounds = measure::interleaved::measure(cluster, &measured, effort)?;
    if args.recipe == Recipe::Karmi {
        for one in measured.iter_mut().filter(|one| matches!(one.subject, Subject::Row(_))) {
            println!("{}: historic recipe", one.subject.name());
            let subject = one.subject;
            let rounds =
                recipe::measure(&effort.recipe, |calls| cluster.run(subject, calls, Pass::Whole))?;
            one.karmi = Some(rounds);
        }
    }
    Ok(Report {
        config: args.config.name(),
        machine,
        effort: effort.about(),
        recipe_note: effort.recipe.about(),
        raw_sizes: cluster.raw.sizes(),
        measured,
        rounds,
    })
}

fn publish(report: &Report, args: &Args) -> Outcome<()> {
    let plot = match &args.plot {
        Some(path) => path.clone(),
        None => output_folder()?.join(format!("{}.svg", args.config.slug())),
    };
    create_folder_of(&plot)?;
    report::plot::draw(report, &plot)?;
    println!("\nplot: {}", plot.display());
    if let Some(path) = &args.json {
        create_folder_of(path)?;
        fs::write(path, report::json::render(report)?)?;
        println!("json: {}", path.display());
    }
    println!("\n{}", report::table::render(report));
    Ok(())
}

fn create_folder_of(file: &Path) -> Outcome<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(())
}

/// `target/latency`, found from where cargo has put this binary: `target/release/deps`.
fn output_folder() -> Outcome<PathBuf> {
    let exe = std::env::current_exe()?;
    let target = exe.ancestors().nth(3).ok_or("the bench lies in no target directory")?;
    Ok(target.join("latency"))
}
