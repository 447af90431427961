/* Scans a file for literals with Hyperscan or Vectorscan, read in blocks, and prints how long it took.
 * usage: cc -O2 -o vectorscan vectorscan.c -lhs && ./vectorscan LITERALS FILE
 * Needs libhs and its headers (Debian: libhyperscan-dev). Streaming, so that a literal over two blocks is found.
 */
#include <fcntl.h>
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100000, BLOCK = 256 << 10 };

static unsigned long long found;

static int on_match(unsigned int id, unsigned long long from, unsigned long long to, unsigned int flags, void *context)
{
    (void)id, (void)from, (void)to, (void)flags, (void)context;
    found++;
    return 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static const char *literals[MOST];
    static size_t lengths[MOST];
    static unsigned flags[MOST], ids[MOST];
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    unsigned count = 0;
    FILE *list = argc == 3 ? fopen(argv[1], "r") : NULL;
    int file = argc == 3 ? open(argv[2], O_RDONLY) : -1;
    if (!list || file < 0)
        return fprintf(stderr, "usage: vectorscan LITERALS FILE\n"), 2;
    while (count < MOST && (length = getline(&line, &room, list)) > 0) {
        if (line[length - 1] == '\n')
            line[--length] = 0;
        if (!length)
            continue;
        literals[count] = strdup(line), lengths[count] = length, ids[count] = count;
        flags[count++] = HS_FLAG_CASELESS;
    }
    double begun = now();
    hs_database_t *database;
    hs_compile_error_t *error;
    if (hs_compile_lit_multi(literals, flags, ids, lengths, count, HS_MODE_STREAM, NULL, &database, &error))
        return fprintf(stderr, "vectorscan: %s\n", error->message), 1;
    hs_scratch_t *scratch = NULL;
    hs_stream_t *stream;
    if (hs_alloc_scratch(database, &scratch) || hs_open_stream(database, 0, &stream))
        return 1;
    double compiled = now();
    static char block[BLOCK];
    while ((length = read(file, block, BLOCK)) > 0)
        if (hs_scan_stream(stream, block, length, 0, scratch, on_match, NULL))
            return 1;
    hs_close_stream(stream, scratch, on_match, NULL);
    fprintf(stderr, "%u literals compiled in %.3f s, %llu found in %.3f s\n", count, compiled - begun, found, now() - compiled);
    return length < 0;
}
