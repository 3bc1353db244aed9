//! An echo server to judge a TCP stack with: echo PORT [QUEUE]
//!
//! QUEUE is the limit of pending fast opens (RFC 7413 section 5.1); 0, the default, leaves fast
//! open off. It reads no more from a connection until all that it has read is written (back
//! pressure), and closes when the client has closed and has everything back (half close).
//!
//! rustc -O echo.rs

use std::io::{Error, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

const IPPROTO_TCP: i32 = 6;
const TCP_FASTOPEN: i32 = 23; // of Linux; FreeBSD has 1025, macOS 0x105

extern "C" {
    fn setsockopt(fd: i32, level: i32, name: i32, value: *const i32, size: u32) -> i32;
}

fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    let mut buffer = [0; 16384];
    loop {
        let size = connection.read(&mut buffer)?;
        if size == 0 {
            return Ok(());
        }
        connection.write_all(&buffer[..size])?;
    }
}

fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| {
        given
            .get(at)
            .map_or(Some(0), |text| text.parse::<i32>().ok())
    };
    let (Some(port @ 1..=65535), Some(queue), 1..=2) = (number(0), number(1), given.len()) else {
        eprintln!("usage: echo PORT [QUEUE]");
        std::process::exit(2);
    };
    let listener = TcpListener::bind(("::", port as u16))
        .or_else(|_| TcpListener::bind(("0.0.0.0", port as u16)))?;
    if queue > 0 {
        // The standard library has listened already, which Linux allows.
        let size = std::mem::size_of::<i32>() as u32;
        let fd = listener.as_raw_fd();
        if unsafe { setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, size) } != 0 {
            return Err(Error::last_os_error());
        }
    }
    println!("ready");
    for connection in listener.incoming().flatten() {
        let small = thread::Builder::new().stack_size(64 << 10);
        // Where no thread can be had, the connection is closed.
        let _ = small.spawn(move || serve(connection));
    }
    Ok(())
}
