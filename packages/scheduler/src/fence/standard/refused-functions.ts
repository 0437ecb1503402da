import { wordsIn } from '../token.ts';

/** Functions of known engines that read files, run code, show the server or wait. */
const NAMES = new Set(
  wordsIn(`addressToLine addressToLineWithInlines addressToSymbol demangle benchmark catboostEvaluate connection_id
    currentDatabase currentProfiles currentRoles currentUser current_setting current_user current_role current_database
    current_catalog current_schema current_schemas database defaultProfiles defaultRoles delta deltaLake displayName
    enabledProfiles enabledRoles evalMLMethod executable file fileCluster files filesystemAvailable filesystemCapacity
    filesystemUnreserved fqdn from_avro fuse getClientHTTPHeader getMacro getOSKernelVersion getServerPort getServerSetting
    getSetting getSettingOrDefault getenv getvariable glob hasColumnInTable hdfs hostName hostname http http_get http_post
    hudi iceberg input input_file_name java_method jdbc joinGet joinGetOrNull json_execute_serialized_sql lastval loadFile
    load_file lo_export lo_import logTrace mongodb mysql nextval currval odbc parquet_scan postgresql prometheusQuery query
    query_table read_blob redis reflect remote remoteSecure s3 s3Cluster serverUUID session_user setseed setval shardNum
    sleep sleepEachRow sqlite sqlite_scan sql_exec stats system_user tcpPort tid try_reflect uptime url urlCluster user
    user_defined version which_secret write_log xmlparse xml_parse ymysql zookeeperSessionUptime`).map((name) =>
    name.toLowerCase(),
  ),
);

/** Families of such functions. */
const FAMILIES =
  /^(?:dict|duckdb_|ducklake_|executable|file|filesystem|get_?macro|get_?server|get_?setting|hdfs|iceberg|lo_|local_?file|merge_?tree|parquet_|pg_|postgres_|pragma_|read_|remote|s3|scan_|shell|sniff_|sys_?|system|url_?cluster|xp_)|sleep|(?:_scan|_exec|_attach|_cluster)$/;

/** Harmless functions whose names look like those of a family. */
const HARMLESS = new Set(wordsIn('sysdate sysdatetime systimestamp'));

/** Whether an engine is known to do more in a function of this name than to compute a value. */
export function isRefusedFunction(name: string): boolean {
  return !HARMLESS.has(name) && (NAMES.has(name) || FAMILIES.test(name));
}
