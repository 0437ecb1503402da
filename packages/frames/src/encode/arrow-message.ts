/** One Arrow IPC message. */
export interface ArrowMessage {
  readonly kind: 'schema' | 'dictionary' | 'batch';
  /** The flatbuffer header, without the prefix and padding of a stream. */
  readonly header: Uint8Array;
  /** The body in order: the buffers of the batch, not copied, and padding. */
  readonly body: readonly Uint8Array[];
  readonly bodyLength: number;
}
