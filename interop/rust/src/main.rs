//! What works with the Flight SQL client of the crate arrow-flight: each line of the output is a part of a row of the table in
//! docs/clients.md. The arguments: the address of a server, that of one with TLS, and the folder of its authority and token.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_flight::error::{FlightError, Result};
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetPrimaryKeys, CommandGetTables, CommandGetXdbcTypeInfo, CommandStatementIngest,
    SqlInfo, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use arrow_flight::{FlightInfo, IpcMessage};
use arrow_schema::{DataType, Schema};
use futures::{TryStreamExt, stream};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

type Client = FlightSqlServiceClient<Channel>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, address, tls_address, folder] = arguments.as_slice() else {
        panic!("two addresses and a folder are needed");
    };
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URL");
    let mut client = Client::new(endpoint.connect().await.expect("a server"));

    statements(&mut client).await?;
    println!("works queries; `execute_update`: `CREATE TABLE`, `INSERT`, `DROP TABLE`");
    parameters(&mut client).await?;
    println!("works prepared statements, with parameters, lists among them");
    bound_rows(&mut client).await?;
    println!("works many bound rows in one append");
    ingest(&mut client).await?;
    println!("works `execute_ingest`: create, append, replace");
    metadata(&mut client).await?;
    println!("works metadata: catalogs, schemas, tables with their columns, types, keys, `get_sql_info`");
    errors(&mut client).await?;
    println!("works errors, with their status and message");
    tls(tls_address, folder).await?;
    println!("works TLS with an authority of your own, and a token");
    transactions(&mut client).await;
    println!("lacks transactions: each statement is committed by itself");
    Ok(())
}

/// Reads the rows of all endpoints.
async fn rows(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for endpoint in info.endpoint {
        let ticket = endpoint.ticket.expect("a ticket");
        let mut stream = client.do_get(ticket).await?;
        while let Some(batch) = stream.try_next().await? {
            batches.push(batch);
        }
    }
    Ok(batches)
}

async fn query(client: &mut Client, sql: &str) -> Result<Vec<RecordBatch>> {
    let info = client.execute(sql.to_string(), None).await?;
    rows(client, info).await
}

async fn update(client: &mut Client, sql: &str) -> Result<i64> {
    client.execute_update(sql.to_string(), None).await
}

/// Returns the texts of a column.
fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let of_batch = |batch: &RecordBatch| -> Vec<String> {
        let texts = batch[column].as_string::<i32>();
        texts.iter().flatten().map(String::from).collect()
    };
    batches.iter().flat_map(of_batch).collect()
}

fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .expect("columns of one length")
}

async fn statements(client: &mut Client) -> Result<()> {
    update(client, "CREATE OR REPLACE TABLE rust_s (id BIGINT, name VARCHAR)").await?;
    let sql = "INSERT INTO rust_s SELECT range, 'n' || range FROM range(1000000)";
    assert_eq!(update(client, sql).await?, 1_000_000);
    assert_eq!(update(client, "INSERT INTO rust_s VALUES (-1, NULL)").await?, 1);
    let batches = query(client, "SELECT id, name FROM rust_s").await?;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000_001);
    let ids = batches.iter().flat_map(|batch| batch["id"].as_primitive::<Int64Type>().values());
    assert_eq!(ids.sum::<i64>(), 499_999_500_000 - 1);
    assert_eq!(texts(&batches, "name").len(), 1_000_000);
    update(client, "DROP TABLE rust_s").await?;
    Ok(())
}

async fn parameters(client: &mut Client) -> Result<()> {
    let sql = "SELECT $1::BIGINT + 1 AS a, $2::VARCHAR AS b, $3::DOUBLE AS c, $4::BOOLEAN AS d, $5::TIMESTAMP AS e,
        $6::BIGINT[] AS f, $7::VARCHAR AS g";
    let mut prepared = client.prepare(sql.to_string(), None).await?;
    assert_eq!(prepared.parameter_schema()?.fields().len(), 7);
    let types = [DataType::Int64, DataType::Utf8, DataType::Float64, DataType::Boolean];
    let shown = prepared.dataset_schema()?.fields().iter().map(|field| field.data_type().clone());
    assert_eq!(shown.take(4).collect::<Vec<_>>(), types);
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]);
    let bound = columns([
        ("1", Arc::new(Int64Array::from(vec![i64::MAX - 1]))),
        ("2", Arc::new(StringArray::from(vec!["it's"]))),
        ("3", Arc::new(Float64Array::from(vec![0.1]))),
        ("4", Arc::new(BooleanArray::from(vec![true]))),
        ("5", Arc::new(TimestampMicrosecondArray::from(vec![1_700_000_000_123_456]))),
        ("6", Arc::new(list.clone())),
        ("7", Arc::new(StringArray::from(vec![None::<&str>]))),
    ]);
    prepared.set_parameters(bound.clone())?;
    let info = prepared.execute().await?;
    let batches = rows(client, info).await?;
    let row = &batches[0];
    assert_eq!(row["a"].as_primitive::<Int64Type>().value(0), i64::MAX);
    for (shown, sent) in [("b", "2"), ("c", "3"), ("d", "4"), ("e", "5"), ("g", "7")] {
        assert_eq!(&row[shown], &bound[sent]);
    }
    assert_eq!(row["f"].as_list::<i32>().value(0).as_ref(), list.value(0).as_ref());
    prepared.close().await
}

async fn bound_rows(client: &mut Client) -> Result<()> {
    update(client, "CREATE OR REPLACE TABLE rust_b (id BIGINT, name VARCHAR)").await?;
    let mut insert = client.prepare("INSERT INTO rust_b VALUES (?, ?)".to_string(), None).await?;
    let names = (0..1000).map(|id| (id % 2 == 0).then(|| format!("n{id}")));
    insert.set_parameters(columns([
        ("1", Arc::new(Int64Array::from_iter_values(0..1000))),
        ("2", Arc::new(names.collect::<StringArray>())),
    ]))?;
    assert_eq!(insert.execute_update().await?, 1000);
    insert.close().await?;
    let counts = query(client, "SELECT count(*) AS n, count(name) AS named FROM rust_b").await?;
    assert_eq!(counts[0]["n"].as_primitive::<Int64Type>().value(0), 1000);
    assert_eq!(counts[0]["named"].as_primitive::<Int64Type>().value(0), 500);
    update(client, "DROP TABLE rust_b").await?;
    Ok(())
}

/// Ingests two batches of two rows, and returns the count that the server reports.
async fn put(client: &mut Client, exists: TableExistsOption) -> Result<i64> {
    let batch = |first: i64| {
        columns([
            ("id", Arc::new(Int64Array::from(vec![first, first + 1])) as ArrayRef),
            ("price", Arc::new(Float64Array::from(vec![Some(0.5), None]))),
        ])
    };
    let command = CommandStatementIngest {
        table_definition_options: Some(TableDefinitionOptions {
            if_not_exist: TableNotExistOption::Create.into(),
            if_exists: exists.into(),
        }),
        table: "rust_i".to_string(),
        ..Default::default()
    };
    client.execute_ingest(command, stream::iter([Ok(batch(1)), Ok(batch(3))])).await
}

async fn ingest(client: &mut Client) -> Result<()> {
    update(client, "DROP TABLE IF EXISTS rust_i").await?;
    let steps = [(TableExistsOption::Fail, 4), (TableExistsOption::Append, 8), (TableExistsOption::Replace, 4)];
    for (exists, count) in steps {
        assert_eq!(put(client, exists).await?, 4);
        let shown = query(client, "SELECT count(*) AS n, sum(price) AS total FROM rust_i").await?;
        assert_eq!(shown[0]["n"].as_primitive::<Int64Type>().value(0), count);
        assert_eq!(shown[0]["total"].as_primitive::<Float64Type>().value(0), count as f64 / 4.0);
    }
    refuses(put(client, TableExistsOption::Fail).await, Code::AlreadyExists, "rust_i");
    Ok(())
}

async fn metadata(client: &mut Client) -> Result<()> {
    let info = client.get_catalogs().await?;
    assert_eq!(texts(&rows(client, info).await?, "catalog_name"), ["memory"]);
    let info = client.get_db_schemas(CommandGetDbSchemas::default()).await?;
    assert_eq!(texts(&rows(client, info).await?, "db_schema_name"), ["main"]);
    let request = CommandGetTables {
        table_name_filter_pattern: Some("rust\\_i".to_string()),
        include_schema: true,
        ..Default::default()
    };
    let info = client.get_tables(request).await?;
    let tables = rows(client, info).await?;
    assert_eq!(texts(&tables, "table_name"), ["rust_i"]);
    let schema = tables[0]["table_schema"].as_binary::<i32>().value(0).to_vec();
    let schema = Schema::try_from(IpcMessage(schema.into()))?;
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["id", "price"]);
    let info = client.get_table_types().await?;
    assert_eq!(texts(&rows(client, info).await?, "table_type"), ["TABLE"]);
    let keys = CommandGetPrimaryKeys { table: "rust_i".to_string(), ..Default::default() };
    let info = client.get_primary_keys(keys).await?;
    assert_eq!(texts(&rows(client, info).await?, "column_name").len(), 0);
    let info = client.get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: None }).await?;
    assert!(texts(&rows(client, info).await?, "type_name").contains(&"BIGINT".to_string()));
    let info = client.get_sql_info(vec![SqlInfo::FlightSqlServerName]).await?;
    let answer = rows(client, info).await?;
    let union = answer[0]["value"].as_union();
    assert_eq!(union.value(0).as_string::<i32>().value(0), "Data-frame server (DuckDB)");
    Ok(())
}

/// Asserts that a call failed with a status and with a part of its message.
fn refuses<T>(result: Result<T>, code: Code, part: &str) {
    match result.err().expect("an error") {
        FlightError::Tonic(status) => {
            assert_eq!(status.code(), code, "{status}");
            assert!(status.message().contains(part), "{status}");
        }
        other => panic!("an error without a status: {other}"),
    }
}

async fn errors(client: &mut Client) -> Result<()> {
    refuses(query(client, "SELECT * FROM nope").await, Code::InvalidArgument, "There is no frame \"nope\"");
    refuses(query(client, "SELEC 1").await, Code::InvalidArgument, "SELEC");
    refuses(update(client, "DROP TABLE nope").await, Code::NotFound, "There is no frame \"nope\"");
    let late = query(client, "SELECT CASE WHEN range < 999999 THEN 1 ELSE error('late') END FROM range(1000000)").await;
    refuses(late, Code::InvalidArgument, "late");
    let prepared = client.prepare("SELECT * FROM nope".to_string(), None).await;
    refuses(prepared, Code::InvalidArgument, "There is no frame \"nope\"");
    Ok(())
}

async fn tls(address: &str, folder: &str) -> Result<()> {
    let read = |name| std::fs::read_to_string(format!("{folder}/{name}")).expect("a file");
    let port = address.rsplit(':').next().expect("a port");
    let endpoint = Endpoint::from_shared(format!("https://localhost:{port}")).expect("a URL");
    let unknown = endpoint.clone().tls_config(ClientTlsConfig::new()).expect("a configuration");
    assert!(unknown.connect().await.is_err());
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read("ca.pem")));
    let known = endpoint.tls_config(tls).expect("a configuration");
    let mut client = Client::new(known.connect().await.expect("a server"));
    refuses(query(&mut client, "SELECT 1").await, Code::Unauthenticated, "The request has no credentials");
    client.set_token(read("token"));
    assert_eq!(query(&mut client, "SELECT 1").await?.len(), 1);
    client.set_token("svc_wrong".to_string());
    refuses(query(&mut client, "SELECT 1").await, Code::Unauthenticated, "token");
    Ok(())
}

async fn transactions(client: &mut Client) {
    refuses(client.begin_transaction().await, Code::Unimplemented, "");
}
