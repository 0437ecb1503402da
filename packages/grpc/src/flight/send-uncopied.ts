import { Duplex } from 'node:stream';
import { Metadata, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import { FlightMessage, flightDataHead } from './flight-data.ts';

/**
 * Makes a call send the bodies of Arrow messages without copies: grpc-js would copy each of them three times. It writes to
 * the HTTP/2 stream of the call, which grpc-js does not expose; if the stream is not found, messages are copied.
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
    // Leave a closed stream to grpc-js.
    if (stream === undefined || stream.destroyed) return send(message, done);
    const { body, bodyLength } = message.arrow;
    if (bodyLength < SMALL_BYTES || bodyLength < SMALL_PART_BYTES * body.length) {
      // Send a short response in one write: separate messages would wake the client more than once.
      const mayFollow = stream.writableLength < SMALL_BYTES;
      send(message, mayFollow ? () => undefined : done);
      if (mayFollow) done();
      return;
    }
    call.sendMetadata(new Metadata());
    write(stream, message, (error) => {
      if (!error) done();
      else call.sendStatus({ code: Status.INTERNAL, details: 'The response could not be sent.' });
    });
  };
}

/** Returns the HTTP/2 stream of a call; undefined if this version of grpc-js stores it elsewhere. */
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

/** The length of the prefix of every gRPC message: a compression flag and the message length. */
const FRAME_BYTES = 5;
/** Shorter messages, and those of shorter parts, are copied, because separate writes cost more. */
const SMALL_BYTES = 16 * 1024;
const SMALL_PART_BYTES = 1024;
