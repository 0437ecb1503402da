import { wordsIn } from '../token.ts';

/** Why functions of Spark are refused. */
interface RefusedGroup {
  /** Completes "The function f …". */
  readonly reason: string;
  readonly names: string;
}

const GROUPS: readonly RefusedGroup[] = [
  { reason: 'runs methods of Java classes on the cluster', names: 'java_method reflect try_reflect' },
  {
    reason: 'shows where the cluster keeps its files',
    names: 'input_file_block_length input_file_block_start input_file_name',
  },
  {
    reason: 'shows more of the cluster than frames',
    names: `current_catalog current_database current_path current_schema current_user python_worker_logs session_user
      user`,
  },
  {
    // Each takes the path of a schema or a descriptor, as an argument or among its options.
    reason: 'can read files of the cluster',
    names: 'from_avro from_protobuf from_xml schema_of_avro schema_of_xml to_avro to_protobuf',
  },
];

/** The functions of Spark that SQL must not call, with the reason. The allowed ones are in `generated/spark-functions.ts`. */
export const REFUSED_SPARK_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(({ reason, names }) => wordsIn(names).map((name) => [name, reason] as const)),
);
