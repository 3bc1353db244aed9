/* lwIP's configuration for target.c: no threads, both families, memory of the host.
 * SPDX-License-Identifier: 0BSD
 */
#define NO_SYS 1
#define LWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 0
#define ARP_TABLE_SIZE 64
#define IP_REASSEMBLY 1
#define IPV6_FRAG_COPYHEADER 1
#define LWIP_TCP 1
#define LWIP_TCP_TIMESTAMPS 1
#define LWIP_TCP_SACK_OUT 1
#define TCP_LISTEN_BACKLOG 1
#define TCP_MSS 1460
#define TCP_WND (32 * 1024)
#define TCP_SND_BUF (32 * 1024)
#define TCP_SND_QUEUELEN (4 * TCP_SND_BUF / TCP_MSS)
#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define MEMP_NUM_TCP_SEG 512
