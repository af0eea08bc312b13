# SPDX-License-Identifier: GPL-2.0-or-later
"""URMA between guests of two processors, each of which polls and posts at the same time
as the other: every byte compared, whoever polls its completion."""

from guestvm import tap
from guestvm.urmacase import DRIVE, HOSTS, TwoGuests

PORTS = 7481, 7482
FOR_EVER = 1 << 22


class Parallel(TwoGuests):
    hotplug = 0

    @classmethod
    def serve(cls):
        cls.servers = [
            cls.left.spawn(f'echo $$ > /tmp/{port}.pid; '
                           f'exec {DRIVE} parallel {port}', 3600)
            for port in PORTS]

    @classmethod
    def server_end(cls):
        cls.left.run('kill -9 $(pidof urma-drive) || true')
        for server in cls.servers:
            server.wait(check=False)

    def client(self, mode, jfc, threads, ops, port=PORTS[0]):
        """Until it says that it is under way."""
        self.right.run(f'rm -f /tmp/{port}')
        job = self.right.spawn(
            f'{DRIVE} parallel {port} {HOSTS["left"]} {mode} {jfc} {threads} '
            f'{ops} > /tmp/{port} & echo $! > /tmp/{port}.pid; wait $!', 600)
        self.right.wait_for(f'grep -q running /tmp/{port} || '
                            f'! test -d /proc/$(cat /tmp/{port}.pid)', 120)
        return job

    def good(self, job, threads, port=PORTS[0]):
        """Every thread has polled something."""
        job.wait()
        words = self.right.out(f'tail -n 1 /tmp/{port}').split()
        print('# completions by thread:', *words[1:])
        self.assertEqual(words[0], 'good')
        self.assertEqual(len(words), 1 + threads)
        self.assertNotIn('0', words)

    def run_all(self, mode, jfc, threads, ops):
        self.good(self.client(mode, jfc, threads, ops), threads)

    def test_1_processors(self):
        """each guest has more than one"""
        for guest in self.guests():
            self.assertGreater(int(guest.out('nproc')), 1)

    def test_2_own(self):
        """each thread by a JFC and a JFR of its own"""
        for mode in 'rm', 'rc':
            self.run_all(mode, 'own', 2, 4000)
        self.check_kernels()

    def test_3_shared(self):
        """all by one JFC and one JFR: a thread ends what another began"""
        for mode in 'rm', 'rc':
            self.run_all(mode, 'shared', 2, 4000)
        self.check_kernels()

    def test_4_more_threads(self):
        """more threads than processors: one is held up wherever it is"""
        for jfc in 'own', 'shared':
            self.run_all('rm', jfc, 6, 1000)
        self.check_kernels()

    def test_5_killed(self):
        """kill -9 of one of two programs, at either end: the other goes on"""
        for guest in self.right, self.left:
            gone = self.client('rm', 'shared', 2, FOR_EVER, PORTS[1])
            stays = self.client('rm', 'shared', 2, 12000)
            self.assertFalse(stays.finished)
            self.assertFalse(gone.finished)
            guest.run(f'kill -9 $(cat /tmp/{PORTS[1]}.pid)')
            self.assertNotEqual(gone.wait(check=False).status, 0)
            self.good(stays, 2)
            self.check_kernels()
            self.server_end()
            self.serve()
        self.run_all('rm', 'own', 2, 1000)
        self.run_all('rm', 'shared', 2, 1000)
        self.check_kernels()


if __name__ == '__main__':
    tap.main()
