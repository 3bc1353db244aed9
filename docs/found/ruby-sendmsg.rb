# Shows that Socket#sendmsg with MSG_FASTOPEN raises EINPROGRESS as long as there is no cookie.
#
# Linux, as root, with `ip` of iproute2: run it as `unshare -n ruby ruby-sendmsg.rb`, in a network
# namespace of its own, where no cookie is kept. Exit status: 0 the text was sent, 1 it was not.
require "socket"

system("ip link set lo up") or abort "run it in a network namespace: unshare -n ruby #{$0}"
File.write("/proc/sys/net/ipv4/tcp_fastopen", "3")
listener = Socket.new(:INET, :STREAM)
listener.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_FASTOPEN, 16)
listener.bind(Addrinfo.tcp("127.0.0.1", 7777))
listener.listen(16)
echo = Thread.new do
  loop do
    connection, = listener.accept
    text = connection.recv(100)
    connection.write(text)
    connection.close
  end
end

def sent(nonblock)
  socket = Socket.new(:INET, :STREAM)
  socket.nonblock = nonblock
  size = socket.sendmsg("hello", Socket::MSG_FASTOPEN, Addrinfo.tcp("127.0.0.1", 7777))
  "#{size} bytes sent, #{socket.recv(100).inspect} came back"
rescue SystemCallError => error
  error.class.name
ensure
  socket.close
end

require "io/nonblock"
puts "ruby #{RUBY_VERSION}"
first = sent(true)
puts "as sockets are made, no cookie yet: #{first}"
sleep 0.2
puts "as sockets are made, with a cookie: #{sent(true)}"
exit(first.start_with?("Errno") ? 1 : 0)
