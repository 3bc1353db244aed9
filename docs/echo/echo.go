// An echo server to judge a TCP stack with: echo PORT [QUEUE]
//
// QUEUE is the limit of pending fast opens (RFC 7413 section 5.1); 0, the default, leaves fast open
// off. It reads no more from a connection until all that it has read is written (back pressure),
// and closes when the client has closed and has everything back (half close).
//
// go build echo.go
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

const tcpFastOpen = 23 // of Linux; FreeBSD has 1025, macOS 0x105

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve(connection *net.TCPConn) {
	buffer := make([]byte, 16384)
	for {
		n, err := connection.Read(buffer)
		if n > 0 {
			if _, err := connection.Write(buffer[:n]); err != nil {
				break
			}
		}
		// io.EOF where the client has closed.
		if err != nil {
			break
		}
	}
	connection.Close()
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: echo PORT [QUEUE]")
		os.Exit(2)
	}
	queue := 0
	if len(os.Args) > 2 {
		number, err := strconv.Atoi(os.Args[2])
		if err != nil {
			fail(err)
		}
		queue = number
	}
	setting := net.ListenConfig{
		// Its probes would come into a connection that a case leaves idle.
		KeepAlive: -1,
		// Called before listen().
		Control: func(_, _ string, raw syscall.RawConn) error {
			var failed error
			err := raw.Control(func(fd uintptr) {
				if queue > 0 {
					failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpFastOpen, queue)
				}
			})
			if err != nil {
				return err
			}
			return failed
		},
	}
	listener, err := setting.Listen(context.Background(), "tcp", ":"+os.Args[1])
	if err != nil {
		fail(err)
	}
	fmt.Println("ready")
	for {
		connection, err := listener.Accept()
		if err != nil {
			continue
		}
		go serve(connection.(*net.TCPConn))
	}
}
