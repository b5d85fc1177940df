//! reqwest with rustls: proxy and roots from the environment and the system.
use reqwest::blocking::{Client, RequestBuilder, Response};
use std::io::{BufRead, BufReader};

const API: &str = "https://api.test";
const DIGEST: &str = "aca1cd027e979588d14b877b7b0cb8585ad9fec599eb45801992ee5382b3760f";

type Outcome = Result<String, Box<dyn std::error::Error>>;

fn send(request: RequestBuilder, token: &str) -> reqwest::Result<Response> {
    request.header("Authorization", format!("Bearer {token}")).send()?.error_for_status()
}

fn get(client: &Client, token: &str) -> Outcome {
    let answer = send(client.get(format!("{API}/whoami")), token)?;
    let version = format!("{:?}", answer.version());
    let text = answer.text()?;
    if text.trim() == format!("you are {token}") { Ok(version) } else { Err(text.into()) }
}

fn post(client: &Client, token: &str) -> Outcome {
    let body = "0123456789abcdef".repeat(65536);
    let text = send(client.post(format!("{API}/digest")).body(body), token)?.text()?;
    if text == DIGEST { Ok(String::new()) } else { Err(text.into()) }
}

fn stream(client: &Client, token: &str) -> Outcome {
    let answer = send(client.get(format!("{API}/events")), token)?;
    let mut lines = BufReader::new(answer).lines();
    let first = lines.next().ok_or("no event")??;
    let id = first.strip_prefix("data: ").and_then(|f| f.strip_suffix(&format!(" {token}"))).ok_or(first.clone())?;
    send(client.get(format!("{API}/go-on/{id}")), token)?;
    let rest = lines.collect::<Result<Vec<_>, _>>()?.join("");
    if rest == "data: done" { Ok(String::new()) } else { Err(rest.into()) }
}

fn main() {
    let token = std::env::var("API_TOKEN").expect("API_TOKEN");
    let manifest = include_str!("../Cargo.toml");
    println!("version {}", manifest.split("version = \"=").nth(1).and_then(|v| v.split('"').next()).unwrap_or(""));
    let client = Client::new();
    for (name, check) in [("get", get as fn(&Client, &str) -> Outcome), ("post", post), ("stream", stream)] {
        match check(&client, &token) {
            Ok(detail) => println!("{name} ok {detail}"),
            Err(error) => println!("{name} {error:?}"),
        }
    }
}
