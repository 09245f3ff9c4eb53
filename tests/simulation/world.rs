//! A world of a few nodes: what they do, what befalls them, and what has to be true.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmi::gc::{EntrySnapshot, Policy, Standing, State};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::deeds;
use crate::network::{Network, Place};
use crate::oracle::{Life, Oracle};
use crate::plan::{Plan, Planted, Weather};
use crate::process::Process;
use crate::random::Random;

/// Each deed has come to an end within this virtual time once everything is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a world has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(pub(crate) BTreeMap<&'static str, u64>);

impl Seen {
    pub(crate) fn add(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }
}

pub(crate) struct World {
    plan: Plan,
    random: Random,
    network: Network,
    oracle: Arc<Oracle>,
    /// By place; nothing where a process has ended and none has begun.
    processes: Vec<Option<Process>>,
    generations: Vec<u32>,
    deeds: Vec<(Life, JoinHandle<()>)>,
    /// What passes by itself, and when.
    passing: Vec<(Instant, Passing)>,
    seen: Seen,
}

#[derive(Clone, Copy, Debug)]
enum Passing {
    Block { from: Place, to: Place },
    Suspension(Life),
    Absence(Place),
}

/// What came of a world.
pub(crate) struct Outcome {
    pub(crate) violations: Vec<String>,
    pub(crate) seen: Seen,
    pub(crate) hash: u64,
    pub(crate) trace: String,
}

/// Lets a world happen from its beginning to its end.
pub(crate) async fn happen(plan: Plan, keeps_trace: bool) -> Outcome {
    let mut random = Random::new(plan.seed ^ 0x5eed);
    let oracle = Oracle::new(keeps_trace, plan.grace / 2);
    oracle.trace.note(format_args!("{plan:?}"));
    let network = Network::new(Random::new(random.next()));
    let mut world = World {
        processes: (0..plan.places).map(|_| None).collect(),
        generations: vec![0; plan.places],
        deeds: Vec::new(),
        passing: Vec::new(),
        seen: Seen::default(),
        plan,
        random,
        network,
        oracle,
    };
    for place in 0..world.plan.places {
        world.start(place).await;
    }
    for _ in 0..world.plan.steps {
        world.step().await;
    }
    world.heal().await;
    world.look_at_the_end().await;
    let Oracle { trace, .. } = &*world.oracle;
    Outcome {
        violations: world.oracle.violations(),
        hash: trace.hash(),
        trace: trace.text(),
        seen: world.seen,
    }
}

impl World {
    async fn start(&mut self, place: Place) {
        let life = Life { place, generation: self.generations[place] };
        self.generations[place] += 1;
        let seed = self.random.next();
        let process = Process::start(&self.plan, &self.network, &self.oracle, life, seed).await;
        self.processes[place] = Some(process);
    }

    async fn step(&mut self) {
        let pause = self.random.millis(80);
        sleep_until(Instant::now() + pause).await;
        self.pass().await;
        if self.random.once_in(4) {
            self.trouble().await;
        }
        for _ in 0..self.random.below(3) {
            self.act();
        }
        self.seen.add("steps", 1);
    }

    /// A process that can act does something.
    fn act(&mut self) {
        let able: Vec<usize> = (0..self.plan.places)
            .filter(|place| self.processes[*place].as_ref().is_some_and(|p| !p.gate.is_suspended()))
            .collect();
        let Some(place) = self.random.pick(&able) else { return };
        let Some(process) = &self.processes[*place] else { return };
        let deed = deeds::choose(&mut self.random, process, self.plan.places);
        self.seen.add(deed.name(), 1);
        let twice = self.plan.planted == Some(Planted::MadeTwice);
        let is_calm = self.plan.weather <= Weather::Cuts;
        let done = deeds::Doing::new(process, &self.oracle, is_calm, twice).start(deed, process);
        self.deeds.extend(done.map(|done| (process.life, done)));
        if self.plan.planted == Some(Planted::HeldInVain) && self.random.once_in(10) {
            deeds::drop_behind_the_oracles_back(process, &self.oracle);
        }
    }

    /// Something befalls somebody, as the weather has it.
    async fn trouble(&mut self) {
        let kinds: &[fn(&mut World)] = match self.plan.weather {
            Weather::Calm => &[],
            Weather::Cuts => &[World::cut],
            Weather::Crashes => &[World::crash, World::cut],
            Weather::Outages => &[World::cut, World::block, World::block, World::suspend],
            Weather::Everything => {
                &[World::cut, World::cut, World::block, World::suspend, World::crash]
            }
        };
        let may_leave = matches!(self.plan.weather, Weather::Crashes | Weather::Everything);
        if may_leave && self.random.once_in(8) {
            return self.leave().await;
        }
        let Some(kind) = self.random.pick(kinds).copied() else { return };
        kind(self);
    }

    fn two_places(&mut self) -> (Place, Place) {
        let one = self.random.below(self.plan.places);
        let two = (one + 1 + self.random.below(self.plan.places - 1)) % self.plan.places;
        (one, two)
    }

    fn cut(&mut self) {
        let (one, two) = self.two_places();
        let cut = self.network.cut(one, two);
        self.seen.add("cuts", cut as u64);
        self.oracle.trace.note(format_args!("{cut} connections of {one} and {two} are cut"));
    }

    /// A short outage, or one that is longer than what anybody waits for.
    fn outage(&mut self) -> Duration {
        let (lease, grace) = (self.plan.lease, self.plan.grace);
        if self.random.once_in(3) {
            self.random.between((lease + grace) * 3 / 2, (lease + grace) * 2)
        } else {
            self.random.between(Duration::from_millis(5), grace * 3 / 10)
        }
    }

    fn block(&mut self) {
        let ((from, to), outage) = (self.two_places(), self.outage());
        let both = self.random.once_in(2);
        let until = Instant::now() + outage;
        let ways = if both { vec![(from, to), (to, from)] } else { vec![(from, to)] };
        let blocked = |(a, b): &(Place, Place)| {
            self.passing.iter().any(|(_, passing)| {
                matches!(passing, Passing::Block { from, to } if (from.min(to), from.max(to)) == (a.min(b), a.max(b)))
            })
        };
        if ways.iter().any(blocked) {
            return;
        }
        self.seen.add(if both { "partitions" } else { "one-way losses" }, 1);
        self.oracle.trace.note(format_args!("blocked for {outage:?}: {ways:?}"));
        self.oracle.outages.blocked(from, to);
        for (from, to) in ways {
            self.network.block(from, to);
            self.passing.push((until, Passing::Block { from, to }));
        }
    }

    fn suspend(&mut self) {
        let outage = self.outage();
        let place = self.random.below(self.plan.places);
        let Some(process) = &self.processes[place] else { return };
        if process.gate.is_suspended() {
            return;
        }
        let life = process.life;
        process.gate.suspend();
        self.seen.add("suspensions", 1);
        self.oracle.trace.note(format_args!("{life} is suspended for {outage:?}"));
        self.oracle.outages.suspended(place);
        self.passing.push((Instant::now() + outage, Passing::Suspension(life)));
    }

    fn crash(&mut self) {
        let place = self.random.below(self.plan.places);
        let Some(process) = self.processes[place].take() else { return };
        process.kill(&self.network, self.random.once_in(2));
        self.oracle.outages.resumed(place);
        self.seen.add("crashes", 1);
        self.is_absent_for_a_while(place);
    }

    async fn leave(&mut self) {
        let place = self.random.below(self.plan.places);
        if self.processes[place].as_ref().is_none_or(|process| process.gate.is_suspended()) {
            return;
        }
        let Some(process) = self.processes[place].take() else { return };
        self.seen.add("leavings", 1);
        process.leave().await;
        self.network.close(place);
        process.gate.kill();
        self.is_absent_for_a_while(place);
    }

    fn is_absent_for_a_while(&mut self, place: Place) {
        let absence = self.random.between(Duration::from_millis(5), self.plan.all_over() / 2);
        self.passing.push((Instant::now() + absence, Passing::Absence(place)));
    }

    /// What is over by now.
    async fn pass(&mut self) {
        let now = Instant::now();
        let (over, on): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.passing).into_iter().partition(|(until, _)| *until <= now);
        self.passing = on;
        for (_, passing) in over {
            match passing {
                Passing::Block { from, to } => {
                    self.oracle.trace.note(format_args!("{from} reaches {to} again"));
                    self.network.unblock(from, to);
                    self.oracle.outages.unblocked(from, to);
                }
                Passing::Suspension(life) => {
                    let process = self.processes[life.place].as_ref();
                    if let Some(process) = process.filter(|process| process.life == life) {
                        self.oracle.trace.note(format_args!("{life} goes on"));
                        process.gate.resume();
                        self.oracle.outages.resumed(life.place);
                    }
                }
                Passing::Absence(place) => {
                    self.start(place).await;
                    self.seen.add("restarts", 1);
                }
            }
        }
    }

    /// All faults stop, and everybody comes to rest.
    async fn heal(&mut self) {
        let last = self.passing.iter().map(|(until, _)| *until).max();
        if let Some(last) = last {
            sleep_until(last).await;
            self.pass().await;
        }
        self.oracle.trace.note("all is well");
        let rest = self.plan.all_over() + Duration::from_secs(1);
        sleep_until(Instant::now() + rest).await;
        for (life, deed) in std::mem::take(&mut self.deeds) {
            if timeout(PATIENCE, deed).await.is_err() {
                self.oracle.violated(format!("L2: a deed of {life} never ends"));
            }
        }
    }

    async fn look_at_the_end(&mut self) {
        let processes: Vec<&Process> = self.processes.iter().flatten().collect();
        for process in &processes {
            deeds::call_all_that_is_held(process, &self.oracle).await;
        }
        self.zombies_are_gone(&processes);
        let stats = processes.iter().map(|process| process.node().stats());
        for stats in stats.collect::<Vec<_>>() {
            let collector = stats.collector;
            self.seen.add("connections lost", stats.connections_lost);
            self.seen.add("heartbeats", stats.heartbeats_sent);
            self.seen.add("adoptions", collector.adopted_received);
            self.seen.add("objects said to be gone", collector.gone_received);
            self.seen.add("news of paths", collector.path_news_received);
            self.seen.add("calls relayed", stats.calls_relayed);
        }
        let leaked = (self.plan.planted == Some(Planted::Leaked))
            .then(|| processes.iter().find_map(|process| process.held().first().cloned()))
            .flatten()
            .map(|kept| kept.thing.clone());
        for process in &processes {
            drop(std::mem::take(&mut *process.store.lock()));
        }
        self.oracle.trace.note("everybody has let go");
        self.nothing_is_left(&processes).await;
        drop(leaked);
        for process in processes {
            process.node().shutdown().await;
            self.oracle.ends(process.life);
            process.gate.kill();
        }
    }

    /// L3.
    fn zombies_are_gone(&self, processes: &[&Process]) {
        if self.plan.policy != Policy::Adopting {
            return;
        }
        for process in processes {
            let snapshot = process.node().gc().snapshot();
            // Whoever hangs below a bridge whose object is gone has nobody to be adopted by.
            let is_left = |entry: &EntrySnapshot| {
                entry.state == State::Zombie && entry.standing != Standing::Broken
            };
            if snapshot.bridges.iter().any(is_left) {
                let all = processes.iter().map(|process| process.node().gc().snapshot());
                let all: Vec<String> = all.map(|snapshot| snapshot.to_string()).collect();
                let (life, all) = (process.life, all.join("\n"));
                self.oracle.violated(format!("L3: a zombie is left at {life}:\n{all}"));
            }
        }
    }

    /// L1: only the hands are left, and each object of a home that lives was dropped.
    async fn nothing_is_left(&self, processes: &[&Process]) {
        let begun = Instant::now();
        loop {
            let snapshots: Vec<_> =
                processes.iter().map(|process| process.node().gc().snapshot()).collect();
            let is_quiet = snapshots.iter().all(|snapshot| {
                snapshot.bridges.is_empty()
                    && snapshot.exports.len() == 1
                    && snapshot.exports[0].children.is_empty()
                    && (snapshot.owed_releases, snapshot.remembered) == (0, 0)
            });
            let left = self.oracle.not_dropped();
            let ends = begun.elapsed() > PATIENCE;
            if is_quiet && left.is_empty() {
                return;
            }
            if ends {
                let shown: Vec<_> = snapshots.iter().map(ToString::to_string).collect();
                let what = format!("L1: objects {left:?} are left, and\n{}", shown.join("\n"));
                return self.oracle.violated(what);
            }
            sleep_until(Instant::now() + Duration::from_millis(20)).await;
        }
    }
}
