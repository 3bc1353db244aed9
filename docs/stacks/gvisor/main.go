// Echo on gVisor's netstack, a TCP/IP stack in Go: echo TAP
//
// On an existing TAP device, with the addresses 10.77.0.2 and fd77::2, ports 7 and 8. There is no fast open.
// Prints "TGT READY" when both listen.
package main

import (
	"fmt"
	"log"
	"net"
	"os"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const backlog = 1024

func openTap(name string) int {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		log.Fatal(err)
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		log.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		log.Fatal(err)
	}
	return fd
}

func echo(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 65536)
	for {
		n, err := connection.Read(buffer)
		if n > 0 {
			if _, err := connection.Write(buffer[:n]); err != nil {
				return
			}
		}
		// io.EOF where the client has closed.
		if err != nil {
			return
		}
	}
}

// Like gonet.ListenTCP, but for the backlog.
func listen(s *stack.Stack, port uint16) net.Listener {
	var queue waiter.Queue
	endpoint, failed := s.NewEndpoint(tcp.ProtocolNumber, ipv6.ProtocolNumber, &queue)
	if failed != nil {
		log.Fatal(failed)
	}
	if failed := endpoint.Bind(tcpip.FullAddress{Port: port}); failed != nil {
		log.Fatal(failed)
	}
	if failed := endpoint.Listen(backlog); failed != nil {
		log.Fatal(failed)
	}
	return gonet.NewTCPListener(s, &queue, endpoint)
}

func main() {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	mac, err := net.ParseMAC("02:00:00:77:00:02")
	if err != nil {
		log.Fatal(err)
	}
	link, err := fdbased.New(&fdbased.Options{
		FDs: []int{openTap(os.Args[1])}, MTU: 1500, EthernetHeader: true, Address: tcpip.LinkAddress(mac),
	})
	if err != nil {
		log.Fatal(err)
	}
	if failed := s.CreateNIC(1, link); failed != nil {
		log.Fatal(failed)
	}
	add := func(protocol tcpip.NetworkProtocolNumber, address net.IP, prefix int) {
		with := tcpip.AddressWithPrefix{Address: tcpip.AddrFromSlice(address), PrefixLen: prefix}
		whole := tcpip.ProtocolAddress{Protocol: protocol, AddressWithPrefix: with}
		if failed := s.AddProtocolAddress(1, whole, stack.AddressProperties{}); failed != nil {
			log.Fatal(failed)
		}
	}
	add(ipv4.ProtocolNumber, net.ParseIP("10.77.0.2").To4(), 24)
	add(ipv6.ProtocolNumber, net.ParseIP("fd77::2").To16(), 64)
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	for _, port := range []uint16{7, 8} {
		listener := listen(s, port)
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					log.Fatal(err)
				}
				go echo(connection)
			}
		}()
	}
	fmt.Println("TGT READY")
	select {}
}
