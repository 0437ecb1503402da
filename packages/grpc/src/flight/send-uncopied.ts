import { Duplex } from 'node:stream';
import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import { FlightMessage, flightDataHead } from './flight-data.ts';

/**
 * Makes a call send the bodies of Arrow messages as they are: grpc-js would copy each of them three times. It takes the
 * HTTP/2 stream of the call for that, which grpc-js keeps to itself; where it is not found, messages are copied.
 */
export function sendUncopied(call: ServerInterceptingCallInterface): void {
  const send = call.sendMessage.bind(call);
  call.sendMessage = (message: unknown, onSent) => {
    if (!(message instanceof FlightMessage)) return send(message, onSent);
    const done = (): void => {
      message.onSent();
      onSent();
    };
    const stream = streamOf(call);
    // Of a stream that is gone grpc-js knows what to do.
    if (stream === undefined || stream.destroyed) return send(message, done);
    if (message.arrow.bodyLength < SMALL_BYTES) {
      // A short answer goes out as one: a message that waited for the one before it would wake the client once more.
      const mayFollow = stream.writableLength < SMALL_BYTES;
      send(message, mayFollow ? () => undefined : done);
      if (mayFollow) done();
      return;
    }
    call.sendMetadata(new Metadata());
    write(stream, message, (error) => {
      if (!error) done();
      else call.sendStatus({ code: Status.INTERNAL, details: 'The answer could not be sent.' });
    });
  };
}

/** The HTTP/2 stream of a call; undefined where this grpc-js keeps it elsewhere. */
export function streamOf(call: object): Duplex | undefined {
  if (!('stream' in call) || !(call.stream instanceof Duplex)) return undefined;
  return 'respond' in call.stream ? call.stream : undefined;
}

function write(stream: Duplex, { arrow }: FlightMessage, onWritten: (error: Error | null | undefined) => void): void {
  const head = flightDataHead(arrow);
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32BE(head.length + arrow.bodyLength, 1);
  stream.cork();
  stream.write(Buffer.concat([frame, head]));
  arrow.body.forEach((part, i) => {
    if (i < arrow.body.length - 1) stream.write(part);
    else stream.write(part, onWritten);
  });
  stream.uncork();
}

/** What stands before every message of gRPC: whether it is compressed, and its length. */
const FRAME_BYTES = 5;
/** Below this the parts of a message cost more than copying them. */
const SMALL_BYTES = 16 * 1024;
