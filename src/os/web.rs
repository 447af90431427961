//! One question to a web server: with which status does it answer?
//!
//! Bounded in time and size. Nothing of the user is sent: no password or token of a URL, no cookie, no login file. A
//! redirect to another host is not followed. Whoever calls this has the user's leave.

use std::time::Duration;

use ureq::http::Uri;
use ureq::{Agent, Proxy};

/// Seconds that one address may take, name look-up and TLS included.
const PATIENCE: Duration = Duration::from_secs(10);
/// Redirects on one host that are followed.
const MOST_REDIRECTS: usize = 3;
/// Headers of an answer are no larger.
const LARGEST_HEADER: usize = 32 << 10;

/// Why there is no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The address is none of http or https, or holds a login.
    #[error("not an address that may be asked")]
    NoUrl,
    /// It leads to this other host.
    #[error("it leads to another host, `{0}`")]
    OtherHost(String),
    #[error("it leads from address to address")]
    Redirects,
    /// The variable that names the proxy makes no sense.
    #[error("the proxy in `{0}` cannot be used")]
    Proxy(&'static str),
    #[error("{0}")]
    Failed(String),
}

/// Asks for `url`, by the proxy that the environment names, and returns the status of the answer.
pub fn status(url: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<u16, WebError> {
    let mut at = parse(url)?;
    for _ in 0..=MOST_REDIRECTS {
        let agent: Agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(LARGEST_HEADER)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .proxy(proxy(&at, env)?)
            .build()
            .into();
        // Some mirrors answer HEAD with another status than GET. The body is never read.
        let answer = agent.get(&at).call().map_err(|error| WebError::Failed(error.to_string()))?;
        let status = answer.status().as_u16();
        let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
        match (status, location) {
            (301 | 302 | 303 | 307 | 308, Some(location)) => at = redirected(&at, location)?,
            _ => return Ok(status),
        }
    }
    Err(WebError::Redirects)
}

fn parse(url: &str) -> Result<Uri, WebError> {
    let uri: Uri = url.parse().map_err(|_| WebError::NoUrl)?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().ok_or(WebError::NoUrl)?;
    if is_web && !authority.as_str().contains('@') { Ok(uri) } else { Err(WebError::NoUrl) }
}

/// Follows a redirect on the same host; https is never left for http.
fn redirected(from: &Uri, location: &str) -> Result<Uri, WebError> {
    let host = from.host().unwrap_or_default();
    let whole = if location.starts_with("//") {
        format!("{}:{location}", from.scheme_str().unwrap_or("https"))
    } else if location.starts_with('/') {
        format!(
            "{}://{}{location}",
            from.scheme_str().unwrap_or("https"),
            from.authority().map_or(host, |a| a.as_str())
        )
    } else {
        location.to_owned()
    };
    let to = parse(&whole)?;
    let leaves_tls = from.scheme_str() == Some("https") && to.scheme_str() != Some("https");
    if to.host() != Some(host) || leaves_tls {
        return Err(WebError::OtherHost(to.host().unwrap_or_default().to_owned()));
    }
    Ok(to)
}

fn proxy(uri: &Uri, env: &dyn Fn(&str) -> Option<String>) -> Result<Option<Proxy>, WebError> {
    let host = uri.host().unwrap_or_default().to_lowercase();
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    if let Some(none) = set("no_proxy").or_else(|| set("NO_PROXY"))
        && is_excluded(&host, &none)
    {
        return Ok(None);
    }
    // Upper-case HTTP_PROXY can come from a request's header in CGI, but requests and curl-likes take it.
    let names: &[&'static str] = match uri.scheme_str() {
        Some("https") => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        _ => &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    let Some((name, value)) = names.iter().find_map(|name| Some((*name, set(name)?))) else { return Ok(None) };
    let value = if value.contains("://") { value } else { format!("http://{value}") };
    Proxy::new(&value).map(Some).map_err(|_| WebError::Proxy(name))
}

/// Says whether a list like `localhost,.example.org,10.0.0.1:8080` names a host.
fn is_excluded(host: &str, list: &str) -> bool {
    list.split([',', ' ']).map(|entry| entry.trim().to_lowercase()).filter(|entry| !entry.is_empty()).any(|entry| {
        let name = entry.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let name = name.map_or(entry.as_str(), |(name, _)| name);
        let name = name.trim_start_matches("*.").trim_start_matches('.');
        name == "*" || host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// A server that answers every request with these bytes; returns its port and what it was asked.
    fn server(answer: String) -> (u16, std::sync::mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, requests) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut request = String::new();
                while reader.read_line(&mut request).is_ok_and(|length| length > 2) {}
                let _ = asked.send(request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        (port, requests)
    }

    fn plain(status: &str) -> String {
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }

    #[test]
    fn the_status_is_what_the_server_says() {
        for (line, want) in [("200 OK", 200), ("404 Not Found", 404), ("403 Forbidden", 403), ("503 Busy", 503)] {
            let (port, requests) = server(plain(line));
            assert_eq!(status(&format!("http://127.0.0.1:{port}/a/noarch/repodata.json"), &|_| None), Ok(want));
            let request = requests.recv().unwrap().to_lowercase();
            assert!(request.starts_with("get /a/noarch/repodata.json http/1.1"), "{request}");
            assert!(!request.contains("authorization") && !request.contains("cookie"), "{request}");
        }
    }

    #[test]
    fn redirects_stay_on_their_host() {
        let redirect = |to: &str| {
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        };
        let (away, _requests) = server(redirect("https://elsewhere.example/x"));
        let url = |port: u16| format!("http://127.0.0.1:{port}/x");
        assert_eq!(status(&url(away), &|_| None), Err(WebError::OtherHost("elsewhere.example".to_owned())));
        let (round, requests) = server(redirect("/again"));
        assert_eq!(status(&url(round), &|_| None), Err(WebError::Redirects));
        assert_eq!(requests.try_iter().count(), MOST_REDIRECTS + 1);
        let (gone, _requests) = server(plain("404 Not Found"));
        let (on, _requests) = server(redirect(&format!("http://127.0.0.1:{gone}/y")));
        assert_eq!(status(&url(on), &|_| None), Ok(404));
    }

    #[test]
    fn nothing_private_is_sent_and_large_answers_end() {
        assert_eq!(status("http://user:word@127.0.0.1:1/x", &|_| None), Err(WebError::NoUrl));
        assert_eq!(status("file:///etc/passwd", &|_| None), Err(WebError::NoUrl));
        let (large, _requests) = server(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)));
        assert!(matches!(status(&format!("http://127.0.0.1:{large}/"), &|_| None), Err(WebError::Failed(_))));
        let (endless, _requests) = server(format!("HTTP/1.1 404 Not Found\r\n\r\n{}", "x".repeat(1 << 22)));
        assert_eq!(status(&format!("http://127.0.0.1:{endless}/"), &|_| None), Ok(404));
    }

    #[test]
    fn a_proxy_of_the_environment_is_used() {
        let (port, requests) = server(plain("404 Not Found"));
        let env = |name: &str| match name {
            "http_proxy" => Some(format!("127.0.0.1:{port}")),
            "no_proxy" => Some("localhost,.example.org".to_owned()),
            _ => None,
        };
        let asked = status("http://mirror.invalid/r/noarch/repodata.json", &env);
        assert!(
            matches!(&asked, Ok(404)) || requests.try_iter().next().is_some_and(|r| r.starts_with("CONNECT")),
            "{asked:?}"
        );
        for (host, list, want) in [
            ("a.example.org", ".example.org", true),
            ("a.example.org", "example.org", true),
            ("example.org", ".example.org", true),
            ("notexample.org", "example.org", false),
            ("h", "*", true),
            ("h", "x, h:8080", true),
            ("h", "", false),
        ] {
            assert_eq!(is_excluded(host, list), want, "{host} {list}");
        }
    }
}
