// Tables of the gateway itself: its clock, its secrets and encryption keys, figures of requests, and refusals of vendors.

import type { Step } from './step'

export const GATEWAY: Step = [
  `create table times (
    name text primary key,
    at bigint not null,
    reference bigint not null
  )`,
  `create table secrets (
    name text primary key,
    value text not null,
    created_at bigint not null
  )`,
  // Keys that rows may be encrypted with, by id. `uses` grows while a process encrypts with one.
  `create table encryption_keys (
    id text primary key,
    uses bigint not null
  )`,
  // Figures of requests per hour, one row for each process that counted. Durations are histograms, as text.
  `create table request_figures (
    hour bigint not null,
    source text not null,
    model text not null,
    upstream text not null,
    requests bigint not null,
    failed bigint not null,
    first_bytes text not null,
    durations text not null,
    primary key (hour, source, model, upstream)
  )`,
  // Requests that a vendor refused for their content, by model and field, with the vendor's latest message.
  `create table vendor_refusals (
    id text primary key,
    upstream text not null,
    model text not null,
    field text not null,
    status bigint not null,
    message text not null,
    refusals bigint not null,
    first_at bigint not null,
    last_at bigint not null
  )`,
  'create index vendor_refusals_by_time on vendor_refusals (last_at)',
]
