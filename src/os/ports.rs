//! Whether a TCP port can be listened on, found out by binding it for a moment: the only answer that is right in a
//! container, behind another network namespace, and for a socket that is bound and does not listen yet.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt};

/// What a bind of all addresses says of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// Nothing has it, on IPv4 and on IPv6.
    Free,
    /// Connections that were closed still linger (TIME_WAIT): a server, which asks to reuse the address, may have it.
    Lingering,
    Taken,
    /// This user may not listen there (EACCES): a privileged port.
    Denied,
    /// No socket could be made or bound for another reason.
    Unclear,
}

/// Binds the wildcard address of both families, one after the other, and lets go at once.
///
/// A listener on one address alone is enough to be in the way, since servers such as PyTorch's bind all.
pub fn port_state(port: u16) -> PortState {
    match bind_both(port, Reuse::No) {
        PortState::Taken if bind_both(port, Reuse::Yes) == PortState::Free => PortState::Lingering,
        other => other,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reuse {
    No,
    Yes,
}

fn bind_both(port: u16, reuse: Reuse) -> PortState {
    let (mut bound, mut state) = (0, PortState::Free);
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        match bind_one(family, port, reuse) {
            Ok(()) => bound += 1,
            // One of the families may be switched off.
            Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => {}
            Err(Errno::ADDRINUSE) => return PortState::Taken,
            Err(Errno::ACCESS | Errno::PERM) => state = PortState::Denied,
            Err(_) => state = PortState::Unclear,
        }
    }
    if bound == 0 && state == PortState::Free { PortState::Unclear } else { state }
}

fn bind_one(family: AddressFamily, port: u16, reuse: Reuse) -> Result<(), Errno> {
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
    if reuse == Reuse::Yes {
        sockopt::set_socket_reuseaddr(&socket, true)?;
    }
    if family == AddressFamily::INET6 {
        // Else the second bind would meet the first family's addresses again.
        sockopt::set_ipv6_v6only(&socket, true)?;
        bind(&socket, &SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0))
    } else {
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_on_one_address_is_enough() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                assert!(address.starts_with('['), "IPv4 is there");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            assert_eq!(port_state(port), PortState::Taken, "{address}");
            drop(listener);
            assert_eq!(port_state(port), PortState::Free, "{address}");
        }
    }

    #[test]
    fn a_closed_connection_lingers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        // The side that closes first keeps the connection.
        drop(listener.accept().unwrap());
        drop((client, listener));
        assert_eq!(port_state(address.port()), PortState::Lingering);
    }
}
