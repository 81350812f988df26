// Whether the client of a connection is still there. cpp-httplib does not hand out its sockets, so
// the one in question is looked for among those of this process, by the port that it came from.

#ifndef REENACT_TOOLS_ENGINE_SERVER_PEER_WATCH_H_
#define REENACT_TOOLS_ENGINE_SERVER_PEER_WATCH_H_

namespace reenact::engine_server {

class PeerWatch {
 public:
  // The connection between `local_port` here and `remote_port`, which stays open as long as this
  // object lives.
  PeerWatch(int local_port, int remote_port);

  // The client closed the connection, or its sending half, or is gone. False when the connection
  // could not be found.
  bool IsGone() const;

 private:
  int socket_ = -1;
};

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_PEER_WATCH_H_
