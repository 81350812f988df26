// Asks a model, and tells the time, where no preloaded library can enter: linked statically. One
// request over a plain socket to the host of OPENAI_BASE_URL.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int main(void) {
  const char* url = getenv("OPENAI_BASE_URL");
  int port = 0;
  char path[128];
  if (url == NULL || sscanf(url, "http://127.0.0.1:%d%127s", &port, path) != 2) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (const struct sockaddr*)&address, sizeof(address)) != 0) return 3;
  const char* body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"HELLO\"}]}";
  char request[1024];
  const int size =
      snprintf(request, sizeof(request),
               "POST %s/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
               "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
               path, port, strlen(body), body);
  if (write(fd, request, (size_t)size) != size) return 4;
  char answer[4096] = "";
  size_t have = 0;
  ssize_t got = 0;
  while (have < sizeof(answer) - 1 &&
         (got = read(fd, answer + have, sizeof(answer) - 1 - have)) > 0)
    have += (size_t)got;
  const char* content = strstr(answer, "\"content\"");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("%s\nat %ld.%09ld\n", content != NULL ? content : answer, (long)now.tv_sec, now.tv_nsec);
  return content != NULL ? 0 : 5;
}
