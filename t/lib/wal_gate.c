/*
 * To be preloaded into a server: while the file that WAL_GATE names exists, nothing is written to WAL. So a test can
 * crash the server with results sent to clients whose WAL is not on disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int
is_wal(int fd)
{
	char		link[64];
	char		path[4096];
	ssize_t		length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	path[length < 0 ? 0 : length] = '\0';
	return strstr(path, "/pg_wal/") != NULL;
}

static void
wait_for_gate(int fd)
{
	const char *gate = getenv("WAL_GATE");

	while (gate != NULL && access(gate, F_OK) == 0 && is_wal(fd))
		usleep(1000);
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	static ssize_t (*next) (int, const void *, size_t, off_t);

	if (next == NULL)
		next = dlsym(RTLD_NEXT, "pwrite");
	wait_for_gate(fd);
	return next(fd, data, size, offset);
}

ssize_t
pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
	return pwrite(fd, data, size, offset);
}
