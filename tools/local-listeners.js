/** The flags of a server on free loopback ports only. */
export const LOCAL_LISTENERS = ['--http-bind-address', '127.0.0.1:0', '--grpc-host', '127.0.0.1', '--grpc-port', '0'];
