/* loop keeps CLIENTS connections busy for SECONDS with nothing but the system
 * calls that a closed loop cannot do without: one receive and one send for each
 * request. It parses nothing and counts nothing, so it shows what the kernel
 * leaves for any load generator to win.
 *
 *   loop watch|collect|poll PROCESSES CLIENTS SECONDS http://ADDRESS:PORT/
 *
 * watch waits in epoll for each answer; collect sleeps 50 us before it does;
 * poll sleeps 50 us and asks every connection in turn. The clients are shared out
 * to processes, each on a CPU of its own if there are several, all in SCHED_BATCH.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static void run(char way, int clients, double end, const struct sockaddr_in *to)
{
	const struct timespec moment = {0, 50000};
	struct epoll_event events[512];
	int poller = epoll_create1(0), *fds = calloc(clients, sizeof *fds);

	for (int i = 0; i < clients; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET};

		event.data.fd = fds[i] = open_connection(to);
		if (way != 'p')
			epoll_ctl(poller, EPOLL_CTL_ADD, fds[i], &event);
	}
	while (seconds() < end) {
		if (way != 'w')
			nanosleep(&moment, NULL);
		if (way == 'p') {
			for (int i = 0; i < clients; i++)
				turn(fds[i]);
			continue;
		}
		int n = epoll_wait(poller, events, 512, 100);
		for (int i = 0; i < n; i++)
			turn(events[i].data.fd);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	const struct sched_param usual = {0};
	char host[64];
	int processes, clients, port;
	double end;

	if (argc != 6 || (processes = atoi(argv[2])) < 1 || (clients = atoi(argv[3])) < processes ||
	    sscanf(argv[5], "http://%63[0-9.]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &to.sin_addr) != 1) {
		fprintf(stderr, "usage: loop watch|collect|poll PROCESSES CLIENTS SECONDS http://ADDRESS:PORT/\n");
		return 2;
	}
	to.sin_port = htons(port);
	length = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s:%d\r\n\r\n", host, port);
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_BATCH, &usual);
	end = seconds() + atof(argv[4]);
	for (int i = 1; i < processes; i++) {
		cpu_set_t cpu;

		CPU_ZERO(&cpu);
		CPU_SET(i, &cpu);
		if (fork())
			continue;
		sched_setaffinity(0, sizeof cpu, &cpu);
		run(*argv[1], clients / processes, end, &to);
		return 0;
	}
	if (processes > 1) {
		cpu_set_t first;

		CPU_ZERO(&first);
		CPU_SET(0, &first);
		sched_setaffinity(0, sizeof first, &first);
	}
	run(*argv[1], clients / processes + clients % processes, end, &to);
	while (wait(NULL) > 0)
		;
	return 0;
}
