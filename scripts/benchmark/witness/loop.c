/* loop keeps CLIENTS connections busy for SECONDS with nothing but the system
 * calls that a closed loop cannot do without: one receive and one send for each
 * request. It parses nothing and counts nothing, so it shows what the kernel
 * leaves for any load generator to win.
 *
 *   loop watch|poll CLIENTS SECONDS http://ADDRESS:PORT/
 *
 * watch waits in epoll for each answer; poll sleeps 50 us and asks every
 * connection in turn.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

static char request[256], answer[65536];
static int length;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* turn takes an answer if there is one, and sends the next request. */
static void turn(int fd)
{
	if (recv(fd, answer, sizeof answer, MSG_DONTWAIT) > 0)
		send(fd, request, length, MSG_NOSIGNAL);
}

static int open_connection(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const void *)to, sizeof *to) < 0) {
		perror("loop: connect");
		exit(1);
	}
	send(fd, request, length, MSG_NOSIGNAL);
	return fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct epoll_event events[512];
	const struct timespec moment = {0, 50000};
	char host[64];
	int clients, port, poller, polls, *fds;
	double end;

	if (argc != 5 || (clients = atoi(argv[2])) < 1 || sscanf(argv[4], "http://%63[0-9.]:%d", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &to.sin_addr) != 1) {
		fprintf(stderr, "usage: loop watch|poll CLIENTS SECONDS http://ADDRESS:PORT/\n");
		return 2;
	}
	polls = !strcmp(argv[1], "poll");
	to.sin_port = htons(port);
	length = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s:%d\r\n\r\n", host, port);
	poller = epoll_create1(0);
	fds = calloc(clients, sizeof *fds);
	prctl(PR_SET_TIMERSLACK, 1);
	end = seconds() + atof(argv[3]);
	for (int i = 0; i < clients; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET};

		event.data.fd = fds[i] = open_connection(&to);
		if (!polls)
			epoll_ctl(poller, EPOLL_CTL_ADD, fds[i], &event);
	}
	while (seconds() < end) {
		if (polls) {
			nanosleep(&moment, NULL);
			for (int i = 0; i < clients; i++)
				turn(fds[i]);
			continue;
		}
		int n = epoll_wait(poller, events, 512, 100);
		for (int i = 0; i < n; i++)
			turn(events[i].data.fd);
	}
	return 0;
}
