//! Echo on smoltcp, a TCP/IP stack in Rust for small machines: echo TAP [SOCKETS]
//!
//! On an existing TAP device, with the addresses 10.77.0.2 and fd77::2, port 7. smoltcp has no backlog: SOCKETS of them
//! (64) listen, each takes one connection, and a SYN that finds none is dropped or reset. There is no fast open.
//! Prints "TGT READY" when they listen.

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{wait, Medium, TunTapInterface};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use std::os::unix::io::AsRawFd;

const PORT: u16 = 7;
const BUFFER: usize = 65535;

fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's hashes have random keys.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

fn serve(socket: &mut tcp::Socket) {
    if !socket.is_open() {
        // An abandoned connection must give its socket back.
        socket.set_timeout(Some(Duration::from_secs(5)));
        socket.listen(PORT).unwrap();
    }
    while socket.can_recv() && socket.can_send() {
        // No more is read than can be sent back: the rest stays in the window.
        let room = socket.send_capacity() - socket.send_queue();
        let read = socket.recv(|data| {
            let size = data.len().min(room);
            (size, data[..size].to_vec())
        });
        match read {
            Ok(data) if !data.is_empty() => socket.send_slice(&data).unwrap(),
            _ => break,
        };
    }
    if socket.state() == tcp::State::CloseWait && !socket.can_recv() {
        // What is in the queue still goes out first.
        socket.close();
    }
}

fn main() {
    let given: Vec<String> = std::env::args().collect();
    let sockets = given.get(2).map_or(64, |text| text.parse().unwrap());
    let mut device = TunTapInterface::new(&given[1], Medium::Ethernet).unwrap();
    let descriptor = device.as_raw_fd();
    let mut config = Config::new(EthernetAddress([2, 0, 0, 0x77, 0, 2]).into());
    config.random_seed = seed();
    let mut interface = Interface::new(config, &mut device, Instant::now());
    interface.update_ip_addrs(|addresses| {
        addresses.push(IpCidr::new(IpAddress::v4(10, 77, 0, 2), 24)).unwrap();
        addresses.push(IpCidr::new(IpAddress::v6(0xfd77, 0, 0, 0, 0, 0, 0, 2), 64)).unwrap();
    });
    let mut set = SocketSet::new(vec![]);
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
    let handles: Vec<_> = (0..sockets)
        .map(|_| set.add(tcp::Socket::new(buffer(), buffer())))
        .collect();
    for handle in &handles {
        serve(set.get_mut(*handle));
    }
    println!("TGT READY");
    let longest = Duration::from_millis(50);
    loop {
        interface.poll(Instant::now(), &mut device, &mut set);
        for handle in &handles {
            serve(set.get_mut(*handle));
        }
        let delay = interface.poll_delay(Instant::now(), &set).unwrap_or(longest);
        wait(descriptor, Some(delay.min(longest))).unwrap();
    }
}
