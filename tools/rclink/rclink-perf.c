// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rclink-perf: latency, bandwidth and message rate of RC Link ports, and whether
 * all arrives as it was sent.  See usage().
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "librclink.h"

static const char usage_text[] =
"usage: rclink-perf [OPTION...] TEST\n"
"\n"
"The same test and options at both ends, the receiver (-l) first; it prints\n"
"\"ready\".  One line of NAME=VALUE is the result: cnps= are congestion\n"
"notifications that came, rtt= the mean round trip in the document's ns of the\n"
"answers that tell it.\n"
"\n"
"  lat       round trips: half of the median, and of the 99th percentile\n"
"  bw        messages to the receiver until it has acknowledged all\n"
"  pattern   as bw; the receiver checks order and content of each QP\n"
"  group     multicast to group -g; receivers count and check\n"
"  stat      counters of the port that are not 0\n"
"\n"
"  -l         receive\n"
"  -p MAC     the peer (not of group)\n"
"  -d PATH    the port (default: the first that is free)\n"
"  -s BYTES   size of a message (1344)\n"
"  -n NUM     messages, all QPs together (10000)\n"
"  -q NUM     QPs (1)\n"
"  -f FORMAT  standard, gen1, gen2, lite (standard)\n"
"  -c FLOW    none, pfc, cbfc (none)\n"
"  -r BYTES   rate limit: bytes in 65.536 us of the document's time\n"
"  -R US,NUM  time-out, and at how many a QP fails (100,15)\n"
"  -g NUM     group (0)\n"
"  -a         have each 16th message answered at once, with its time\n"
"  -w         sleep while there is nothing to do (else: busy)\n"
"  -t SEC     give up after this time without progress (20); group: the end\n";

enum { FIRST_PSN = 0xff0, HEAD = 16 };

static struct {
	bool listen, sleep;
	const char *path;
	uint64_t peer;
	size_t bytes;
	unsigned long num;
	unsigned qps, group, rate, patience, stamp;
	struct rclink_port port;
} opt = { .bytes = 1344, .num = 10000, .qps = 1, .patience = 20 };

static struct rclink *rc;

static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("rclink-perf: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static int must(int n, const char *what)
{
	if (n < 0)
		fail("%s: %s", what, strerror(-n));
	return n;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* ---- patience ---- */

static uint64_t last_progress;
static unsigned idle_turns;

static void progress(void)
{
	idle_turns = 0;
}

/* Nothing was there: wait for @what; false: it has not come for too long. */
static bool patient(unsigned what)
{
	if (opt.sleep) {
		/* Multicast may have ended unseen.  Else nothing but what is
		 * waited for may wake us: a look now and then would hide
		 * that it did not. */
		int ms = what == RCLINK_WAIT_GROUP ? 200 : opt.patience * 1000;

		if (must(rclink_wait(rc, what, ms), "waiting")) {
			idle_turns = 0;
			return true;
		}
		if (what != RCLINK_WAIT_GROUP)
			return false;
	}
	if (!idle_turns++) {
		last_progress = now_ns();
		return true;
	}
	return !(opt.sleep || idle_turns % 1024 == 0) ||
	       now_ns() - last_progress <= opt.patience * 1000000000ull;
}

static void idle(unsigned what)
{
	if (!patient(what))
		fail("nothing happened for %u seconds", opt.patience);
}

/* ---- messages ---- */

/* Number of the message of its QP, its QP, then bytes made of both. */
static void fill(uint8_t *p, size_t len, unsigned qp, uint64_t num)
{
	uint64_t x = (num + 1) * 0x9e3779b97f4a7c15ull ^ qp;

	memcpy(p, &num, 8);
	memset(p + 8, 0, 8);
	p[8] = qp;
	p[9] = qp >> 8;
	for (size_t i = HEAD; i < len; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p + i, &x, len - i < 8 ? len - i : 8);
	}
}

static void check(const struct rclink_message *m, uint64_t *next, bool loss)
{
	static uint8_t want[8192];
	const uint8_t *p = m->data;
	unsigned qp = p[8] | p[9] << 8;
	uint64_t num;

	memcpy(&num, p, 8);
	if (m->truncated || m->len != opt.bytes)
		fail("a message of %zu bytes", m->len);
	if (qp >= opt.qps)
		fail("a message of QP %u", qp);
	if (num != next[qp] && !(loss && num > next[qp]))
		fail("QP %u: message %" PRIu64 " in place of %" PRIu64, qp, num,
		     next[qp]);
	fill(want, opt.bytes, qp, num);
	if (memcmp(want, p, opt.bytes))
		fail("QP %u: message %" PRIu64 " is damaged", qp, num);
	next[qp] = num + 1;
}

/* ---- events ---- */

static uint64_t sent_done, timeouts, dropped, cnps, rtt_sum, rtt_num;

/* Whether there was any. */
static bool events(void)
{
	struct rclink_event ev;
	bool any = false;

	while (rclink_poll(rc, &ev)) {
		any = true;
		if (ev.type == RCLINK_SENT) {
			sent_done++;
			dropped += ev.error != 0;
			progress();
		}
		timeouts += ev.type == RCLINK_TIMEOUT;
		cnps += ev.type == RCLINK_CONGESTED;
		if (ev.type == RCLINK_ACKED) {
			rtt_sum += ev.rtt;
			rtt_num++;
		}
		if (ev.type == RCLINK_SENT && ev.error)
			fail("QP %u: message dropped, reason %x", ev.qp,
			     ev.error);
		if (ev.type == RCLINK_IRQ)
			fail("interrupt %" PRIx64, ev.value);
	}
	return any;
}

/* ---- tests ---- */

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void receive(bool group, bool verify)
{
	uint64_t *next = calloc(opt.qps, sizeof(*next)), start = 0, ns, cnt = 0;
	struct rclink_message m;

	ready();
	while (cnt < opt.num) {
		if (!must(rclink_recv(rc, group, &m), "receiving")) {
			if (!group || !cnt)
				idle(group ? RCLINK_WAIT_GROUP :
					     RCLINK_WAIT_MESSAGE);
			else if (!patient(RCLINK_WAIT_GROUP))
				/* Multicast may lose the last one. */
				break;
			continue;
		}
		if (!cnt++)
			start = now_ns();
		progress();
		if (verify)
			check(&m, next, group);
		if (cnt % 256 == 0)
			events();
	}
	ns = now_ns() - start;
	/* Answers leave, and what the sender sends again is answered. */
	rclink_recv(rc, group, &m);
	printf("received=%" PRIu64 " bytes=%zu ms=%.1f MBps=%.1f\n", cnt,
	       opt.bytes, ns / 1e6, cnt * opt.bytes * 1e3 / ns);
	fflush(stdout);
	/* Its acknowledgement may be lost: stay until the sender is content. */
	if (!group) {
		uint64_t until = now_ns() + 1000000000ull;

		while (now_ns() < until)
			rclink_wait(rc, RCLINK_WAIT_MESSAGE, 100);
	}
	free(next);
}

static void transmit(bool group, bool verify)
{
	uint64_t *next = calloc(opt.qps, sizeof(*next)), start = now_ns(), ns;
	uint8_t *data = malloc(opt.bytes);
	unsigned long i = 0;
	unsigned qp = 0;

	fill(data, opt.bytes, 0, 0);
	while (sent_done < opt.num) {
		bool any = false;

		/* No more than are all told of: rclink_poll(). */
		while (i < opt.num && i - sent_done < 768) {
			/* Who rings wants to know the time, too. */
			unsigned flags = i % 16 == 15 || i + 1 == opt.num ?
					 opt.stamp : RCLINK_MORE;
			int err;

			if (verify)
				fill(data, opt.bytes, qp, next[qp]);
			err = group ? rclink_send_group(rc, opt.group, data,
							opt.bytes, flags, i) :
			      rclink_send(rc, qp, data, opt.bytes, flags, i);
			if (err == -EAGAIN)
				break;
			must(err, "sending");
			next[qp]++;
			qp = (qp + 1) % opt.qps;
			i++;
			any = true;
		}
		rclink_ring(rc);
		/* Events may have made room: who sleeps then sleeps for ever. */
		if (!events() && !any)
			idle(RCLINK_WAIT_EVENT);
	}
	ns = now_ns() - start;
	printf("sent=%lu bytes=%zu qps=%u ms=%.1f MBps=%.1f Mmsgps=%.4f "
	       "timeouts=%" PRIu64 " cnps=%" PRIu64 " rtts=%" PRIu64
	       " rtt=%" PRIu64 "\n", i, opt.bytes, opt.qps, ns / 1e6,
	       i * opt.bytes * 1e3 / ns, i * 1e3 / ns, timeouts, cnps, rtt_num,
	       rtt_num ? rtt_sum / rtt_num : 0);
	free(data);
	free(next);
}

static void wait_message(struct rclink_message *m)
{
	while (!must(rclink_recv(rc, 0, m), "receiving"))
		idle(RCLINK_WAIT_MESSAGE);
	progress();
}

static void send_now(const void *data, size_t len)
{
	int err;

	while ((err = rclink_send(rc, 0, data, len, 0, 0)) == -EAGAIN)
		idle(RCLINK_WAIT_ROOM);
	must(err, "sending");
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void latency(void)
{
	uint64_t *t = malloc(opt.num * sizeof(*t));
	uint8_t *data = malloc(opt.bytes);
	struct rclink_message m;

	fill(data, opt.bytes, 0, 0);
	if (opt.listen)
		ready();
	for (unsigned long i = 0; i < opt.num; i++) {
		uint64_t start = now_ns();

		if (!opt.listen)
			send_now(data, opt.bytes);
		wait_message(&m);
		if (opt.listen)
			send_now(m.data, m.len);
		t[i] = now_ns() - start;
		events();
	}
	qsort(t, opt.num, sizeof(*t), compare);
	if (!opt.listen)
		printf("bytes=%zu us=%.2f us99=%.2f\n", opt.bytes,
		       t[opt.num / 2] / 2e3, t[opt.num * 99 / 100] / 2e3);
	else
		while (sent_done < opt.num)	/* the last one is theirs */
			if (!events())
				idle(RCLINK_WAIT_EVENT);
	free(data);
	free(t);
}

static void counters(void)
{
	uint64_t v;

	for (unsigned i = 0; rclink_stat_name(i); i++)
		if (!must(rclink_stat(rc, i, &v), "counters") && v)
			printf("%s=%" PRIu64 "\n", rclink_stat_name(i), v);
}

/* ---- options ---- */

static unsigned choice(const char *word, const char *const *of)
{
	for (unsigned i = 0; of[i]; i++)
		if (!strcmp(word, of[i]))
			return i;
	fail("what is %s?", word);
}

static uint64_t mac_of(const char *s)
{
	unsigned b[6];
	uint64_t mac = 0;

	if (sscanf(s, "%x:%x:%x:%x:%x:%x", b, b + 1, b + 2, b + 3, b + 4,
		   b + 5) != 6)
		fail("%s is no MAC address", s);
	for (int i = 0; i < 6; i++)
		mac = mac << 8 | (b[i] & 0xff);
	return mac;
}

static void setup(void)
{
	if (opt.bytes < RCLINK_BYTES_MIN || opt.bytes > rclink_bytes(rc))
		fail("messages have %d to %u bytes", RCLINK_BYTES_MIN,
		     rclink_bytes(rc));
	if (!opt.qps || opt.qps > rclink_qps(rc) || !opt.num)
		fail("QPs: 1 to %u", rclink_qps(rc));
	must(rclink_port_set(rc, &opt.port), "port");
	for (unsigned i = 0; i < opt.qps && opt.peer; i++) {
		struct rclink_peer peer = {
			.mac = opt.peer, .ip = rclink_ip_of(opt.peer), .qp = i,
			.psn_tx = FIRST_PSN, .psn_rx = FIRST_PSN,
			.udp_port = 0xc000 + i, .pkey = 0x5a,
		};

		must(rclink_connect(rc, i, &peer), "QP");
		if (opt.rate)
			must(rclink_rate(rc, i, 65536, opt.rate), "rate");
	}
	if (opt.rate)
		must(rclink_group_rate(rc, 65536, opt.rate), "rate");
}

static void options(int argc, char **argv)
{
	static const char *const formats[] = { "standard", "gen1", "gen2",
					       "lite", NULL };
	static const char *const flows[] = { "none", "pfc", "cbfc", NULL };
	const char *format = formats[0], *flow = flows[0];
	unsigned retry_us = 100, retries = 15;
	int c;

	while ((c = getopt(argc, argv, "lp:d:s:n:q:f:c:r:R:g:awt:h")) != -1) {
		switch (c) {
		case 'l': opt.listen = true; break;
		case 'p': opt.peer = mac_of(optarg); break;
		case 'd': opt.path = optarg; break;
		case 's': opt.bytes = strtoul(optarg, NULL, 0); break;
		case 'n': opt.num = strtoul(optarg, NULL, 0); break;
		case 'q': opt.qps = strtoul(optarg, NULL, 0); break;
		case 'f': format = optarg; break;
		case 'c': flow = optarg; break;
		case 'r': opt.rate = strtoul(optarg, NULL, 0); break;
		case 'R':
			if (sscanf(optarg, "%u,%u", &retry_us, &retries) != 2)
				fail("-R US,NUM");
			break;
		case 'g': opt.group = strtoul(optarg, NULL, 0); break;
		case 'a': opt.stamp = RCLINK_ACK_NOW; break;
		case 'w': opt.sleep = true; break;
		case 't': opt.patience = strtoul(optarg, NULL, 0); break;
		case 'h': fputs(usage_text, stdout); exit(0);
		default: fputs(usage_text, stderr); exit(2);
		}
	}
	if (optind + 1 != argc) {
		fputs(usage_text, stderr);
		exit(2);
	}
	must(rclink_open(opt.path, &rc), opt.path ? opt.path : "no port");
	rclink_port_init(rc, &opt.port);
	opt.port.format = choice(format, formats);
	opt.port.flow = choice(flow, flows);
	opt.port.retry_us = retry_us;
	opt.port.retries = retries;
}

int main(int argc, char **argv)
{
	static const char *const tests[] = { "lat", "bw", "pattern", "group",
					     "stat", NULL };
	unsigned test;

	options(argc, argv);
	test = choice(argv[optind], tests);
	if (test == 4) {
		counters();
		rclink_close(rc);
		return 0;
	}
	if (test < 3 && !opt.peer)
		fail("-p MAC is missing");
	setup();
	if (test == 0)
		latency();
	else if (opt.listen)
		receive(test == 3, test >= 2);
	else
		transmit(test == 3, test >= 2);
	rclink_close(rc);
	return 0;
}
