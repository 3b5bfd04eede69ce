//! Worker addresses: a list, a DNS name, or the machines of a Slurm job.

use std::fmt;

use tsql_error::{Error, Result};
use url::Url;

/// Default port of a worker.
const PORT: u16 = 7700;

/// Environment variable with the machines of a Slurm job.
const NODES: &str = "SLURM_JOB_NODELIST";

/// Environment variable with the port of the workers of a Slurm job.
const NODES_PORT: &str = "TSQL_WORKER_PORT";

/// Maximum number of machines in a Slurm list.
const MAX_NODES: usize = 10_000;

/// One entry of a list of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    /// `host:port`
    Host(String, u16),
    /// `dns:name:port`: all current addresses of the name, such as a headless service of Kubernetes.
    Dns(String, u16),
    /// `slurm`: the machines of this process's job.
    Slurm,
}

/// A parsed list of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addresses(Vec<Address>);

impl Addresses {
    /// Parses any mixture of `host:port`, `dns:name:port` and `slurm`, separated by commas.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let entries = text.split(',').map(str::trim);
        let entries = entries.filter(|entry| !entry.is_empty()).map(parse_address);
        let entries = entries.collect::<Result<Vec<_>>>()?;
        if entries.is_empty() {
            return Err(address_error(text, "contains no worker"));
        }
        Ok(Self(entries))
    }

    /// Resolves the list to worker URLs, without duplicates, in order.
    pub(super) async fn resolve(&self, scheme: &str) -> Result<Vec<Url>> {
        let mut found: Vec<Url> = Vec::new();
        let mut add = |host: &str, port: u16| -> Result<()> {
            let url = Url::parse(&format!("{scheme}://{host}:{port}"));
            let url = url.map_err(|error| address_error(host, &error.to_string()))?;
            if !found.contains(&url) {
                found.push(url);
            }
            Ok(())
        };
        for entry in &self.0 {
            match entry {
                Address::Host(host, port) => add(host, *port)?,
                Address::Dns(name, port) => {
                    let known = tokio::net::lookup_host((name.as_str(), *port)).await;
                    let known = known.map_err(|error| address_error(name, &error.to_string()))?;
                    let mut hosts: Vec<std::net::IpAddr> = known.map(|at| at.ip()).collect();
                    hosts.sort();
                    for host in hosts {
                        match host {
                            std::net::IpAddr::V4(host) => add(&host.to_string(), *port)?,
                            std::net::IpAddr::V6(host) => add(&format!("[{host}]"), *port)?,
                        }
                    }
                }
                Address::Slurm => {
                    let nodes = std::env::var(NODES)
                        .map_err(|_| address_error("slurm", &format!("{NODES} is not set")))?;
                    for node in expand_slurm_list(&nodes)? {
                        add(&node, slurm_port()?)?;
                    }
                }
            }
        }
        Ok(found)
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, entry) in self.0.iter().enumerate() {
            if place > 0 {
                formatter.write_str(",")?;
            }
            match entry {
                Address::Host(host, port) => write!(formatter, "{host}:{port}")?,
                Address::Dns(name, port) => write!(formatter, "dns:{name}:{port}")?,
                Address::Slurm => formatter.write_str("slurm")?,
            }
        }
        Ok(())
    }
}

fn address_error(text: &str, reason: &str) -> Error {
    let reason =
        format!("`{text}`: {reason}\nhint: --workers HOST:PORT,HOST:PORT, dns:NAME:PORT or slurm");
    Error::Argument {
        name: "workers",
        reason,
    }
}

fn parse_address(entry: &str) -> Result<Address> {
    if entry == "slurm" {
        return Ok(Address::Slurm);
    }
    let (name, is_dns) = match entry.strip_prefix("dns:") {
        Some(name) => (name, true),
        None => (entry, false),
    };
    let bracketed = name.starts_with('[') && name.ends_with(']');
    let (host, port) = match name.rsplit_once(':') {
        Some((host, port)) if !bracketed => {
            let port = port.parse::<u16>().ok().filter(|port| *port > 0);
            (
                host,
                port.ok_or_else(|| address_error(entry, "expected a port from 1 to 65535"))?,
            )
        }
        _ => (name, PORT),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_v6 = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || !(is_v6 || host.chars().all(plain)) {
        return Err(address_error(entry, "expected a host and a port"));
    }
    Ok(if is_dns {
        Address::Dns(host.to_owned(), port)
    } else {
        Address::Host(host.to_owned(), port)
    })
}

fn slurm_port() -> Result<u16> {
    match std::env::var(NODES_PORT) {
        Err(_) => Ok(PORT),
        Ok(port) => port
            .parse()
            .map_err(|_| address_error(&port, &format!("expected a port in {NODES_PORT}"))),
    }
}

/// Expands Slurm's short form: `gpu[01-03,7],login1` is `gpu01 gpu02 gpu03 gpu7 login1`.
fn expand_slurm_list(list: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for item in split_items(list) {
        expand_item(item, &mut found).map_err(|reason| address_error(list, reason))?;
    }
    Ok(found)
}

/// Splits at commas outside of brackets.
fn split_items(list: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    list.split(move |c: char| {
        inside = (inside || c == '[') && c != ']';
        c == ',' && !inside
    })
}

fn expand_item(item: &str, found: &mut Vec<String>) -> std::result::Result<(), &'static str> {
    let Some((before, rest)) = item.split_once('[') else {
        found.push(item.trim().to_owned());
        return Ok(());
    };
    let (ranges, after) = rest.split_once(']').ok_or("expected a closing bracket")?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let number = |text: &str| text.parse::<usize>().map_err(|_| "expected a number");
        let (first, last) = (number(first)?, number(last)?);
        if last < first || last - first > MAX_NODES || found.len() > MAX_NODES {
            return Err("too many machines");
        }
        for number in first..=last {
            expand_item(&format!("{before}{number:0width$}{after}"), found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn urls(text: &str) -> Vec<String> {
        let found = Addresses::parse(text).unwrap().resolve("http").await;
        found.unwrap().iter().map(Url::to_string).collect()
    }

    #[tokio::test]
    async fn lists_name_each_worker_once() {
        let wanted = [
            "http://10.0.0.1:7700/",
            "http://gpu-2.lab:80/",
            "http://[::1]:7701/",
        ];
        let found = urls("10.0.0.1, gpu-2.lab:80,[::1]:7701,10.0.0.1:7700").await;
        // `http` drops its own port from a URL.
        assert_eq!(found, wanted.map(|url| url.replace(":80/", "/")));
    }

    #[tokio::test]
    async fn a_name_resolves_to_all_its_addresses() {
        let found = urls("dns:localhost:7700").await;
        assert!(
            found.contains(&"http://127.0.0.1:7700/".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn invalid_worker_addresses_are_reported() {
        for text in [
            "",
            " , ",
            "host:",
            "host:0",
            "host:99999",
            "http://host:1",
            "a b:1",
        ] {
            assert!(Addresses::parse(text).is_err(), "{text}");
        }
        let both = Addresses::parse("dns:workers.default.svc:7700,slurm").unwrap();
        assert_eq!(both.to_string(), "dns:workers.default.svc:7700,slurm");
    }

    #[test]
    fn short_lists_of_slurm_are_written_out() {
        let found = expand_slurm_list("gpu[01-03,7],login1,r[1-2]n[8,09]").unwrap();
        let wanted = "gpu01 gpu02 gpu03 gpu7 login1 r1n8 r1n09 r2n8 r2n09";
        assert_eq!(found.join(" "), wanted);
        for text in ["gpu[1-", "gpu[a-b]", "gpu[3-1]", "gpu[0-99999999]"] {
            assert!(expand_slurm_list(text).is_err(), "{text}");
        }
    }
}
