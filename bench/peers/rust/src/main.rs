// SPDX-License-Identifier: MIT
// backon, tokio-retry and failsafe: peers PEER WORK COUNT
use backon::{BlockingRetryable, ConstantBuilder};
use failsafe::{CircuitBreaker, Config};
use std::hint::black_box;
use std::time::Duration;

// Nanoseconds of this process's only thread.
fn processor_time() -> u64 {
    let used = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    used.split(' ').next().unwrap().parse().unwrap()
}

fn timed(count: u64, mut once: impl FnMut()) {
    for _ in 0..count / 5 {
        once();
    }
    let begin = processor_time();
    for _ in 0..count {
        once();
    }
    println!("{}", (processor_time() - begin) as f64 / count as f64);
}

#[inline(never)]
fn second(calls: &mut i32) -> Result<i32, &'static str> {
    *calls += 1;
    if black_box(*calls) == 1 {
        Err("HTTP 503 Service Unavailable")
    } else {
        Ok(*calls)
    }
}

#[inline(never)]
fn plain() -> Result<i32, &'static str> {
    black_box(Ok(2))
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let count: u64 = words[3].parse().unwrap();
    match (words[1].as_str(), words[2].as_str()) {
        ("backon", "retry") => {
            let waits = ConstantBuilder::default().with_delay(Duration::ZERO).with_max_times(3);
            timed(count, || {
                let mut calls = 0;
                black_box((|| second(&mut calls)).retry(waits).call().unwrap());
            });
        }
        ("tokio-retry", "retry") => {
            // Time is paused: a timer of tokio would wait for its next millisecond.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let begin = processor_time();
                for _ in 0..count {
                    let mut calls = 0;
                    let waits = tokio_retry::strategy::FixedInterval::from_millis(0).take(3);
                    let result = tokio_retry::Retry::start(waits, || {
                        let answer = second(&mut calls);
                        async move { answer }
                    })
                    .await;
                    black_box(result.unwrap());
                }
                println!("{}", (processor_time() - begin) as f64 / count as f64);
            });
        }
        ("failsafe", "breaker") => {
            let breaker = Config::new().build();
            timed(count, || {
                black_box(breaker.call(plain).unwrap());
            });
        }
        _ => std::process::exit(3),
    }
}
