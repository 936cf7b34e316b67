"""Joins, sorts and groups on DuckDB's own threads."""

import duckdb


def main():
    connection = duckdb.connect(config={"threads": 2})
    connection.execute(
        "CREATE TABLE numbers AS SELECT i, hash(i) % 1000 AS bucket, hash(i * 7) % 100003 AS value "
        "FROM range(3000000) t(i)"
    )
    for query in (
        "SELECT bucket, sum(value), count(DISTINCT value) FROM numbers GROUP BY bucket ORDER BY 2 DESC, 1 LIMIT 3",
        "SELECT count(*), sum(a.value) FROM numbers a JOIN numbers b ON a.i = b.value",
        "SELECT sum(rank * (i % 17)) FROM (SELECT i, row_number() OVER (ORDER BY value, i) AS rank FROM numbers)",
    ):
        print(connection.execute(query).fetchall())


main()
