"""The tables of a store."""

from __future__ import annotations

from scapy_tfo.fuzz.findings import finding as records

SCHEMA = 3
APPLICATION = 0x7F413
TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sent (
    part TEXT, number INTEGER, complete INTEGER NOT NULL, programs INTEGER NOT NULL,
    judged INTEGER NOT NULL, probes INTEGER NOT NULL, singles INTEGER NOT NULL,
    heard INTEGER NOT NULL, unjudged TEXT NOT NULL, seconds REAL NOT NULL,
    seeded TEXT NOT NULL, mutated TEXT NOT NULL, PRIMARY KEY (part, number)
) WITHOUT ROWID;
CREATE TABLE late (
    number INTEGER PRIMARY KEY, done INTEGER NOT NULL, program TEXT NOT NULL,
    seeded TEXT NOT NULL, mutated TEXT NOT NULL
);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE coverage (
    pair TEXT PRIMARY KEY, number INTEGER NOT NULL, program TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE base (pair TEXT PRIMARY KEY, program TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sighting (
    requirement TEXT, rule TEXT, state TEXT, reply TEXT, cookie TEXT, number INTEGER NOT NULL,
    program TEXT NOT NULL, expected TEXT NOT NULL, actual TEXT NOT NULL, count INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, finding TEXT,
    PRIMARY KEY (requirement, rule, state, reply, cookie)
) WITHOUT ROWID;
CREATE TABLE finding ({", ".join(records.COLUMNS)}, PRIMARY KEY (id)) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA};
"""
