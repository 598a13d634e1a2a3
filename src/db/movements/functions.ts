// The PostgreSQL functions that apply a group of movements in one call, equivalent to the ledger's single statements. They must
// return what the statements would have returned in some order, and lock accounts first, by name. Each list is read once, as an
// array of records (records.ts). A guard is reported by its name.

import { ENDED_FIELDS, namesIn, namesOf, OPEN_FIELDS, typeOf } from './records'

/** Decides each hold in turn, from the previous state and what earlier holds took. */
const DECIDE = `create function decide_holds(list charge_hold[]) returns text[] language plpgsql as $$
declare
  h record;
  missed text[] := array_fill(null::text, array[cardinality(list)]);
  miss text;
  at_account text;
  at_key text;
  at_period text;
  at_account_period text;
  at_minute bigint;
  available bigint;
  running bigint;
  counted_at bigint;
  admitted bigint;
  requests bigint;
  tokens bigint;
  committed bigint;
  of_account bigint;
  taken text[];
begin
  for h in
    select i.*, a.balance - a.held as available, w.requests, w.tokens, b.committed, ab.committed as of_account,
      s.charge as taken_by
    from unnest(list) i
    left join accounts a on a.name = i.account
    left join rate_windows w on w.key_id = i.key_id and w.minute = i.window_minute
    left join budgets b on b.key_id = i.key_id and b.period = i.budget_period
    left join budgets ab on ab.key_id = 'account:' || i.account and ab.period = i.account_period
    left join saved_answers s on s.account = i.account and s.idempotency_key = i.idempotency_key
    order by i.account, i.key_id, i.window_minute, i.place
  loop
    if h.account is distinct from at_account then
      at_account := h.account;
      available := h.available;
      taken := '{}';
      at_account_period := null;
    end if;
    if h.account_period is not null and h.account_period is distinct from at_account_period then
      if at_account_period is not null then raise exception 'holds of one account in two periods'; end if;
      at_account_period := h.account_period;
      of_account := coalesce(h.of_account, 0);
    end if;
    if h.key_id is distinct from at_key then
      at_key := h.key_id;
      at_period := h.budget_period;
      at_minute := null;
      running := null;
      admitted := 0;
      committed := coalesce(h.committed, 0);
    elsif h.budget_period is distinct from at_period then
      -- A period ends in this moment. Two counters of one key are more than this loop keeps apart.
      raise exception 'holds of one key in two periods';
    end if;
    if h.window_minute is distinct from at_minute then
      at_minute := h.window_minute;
      requests := coalesce(h.requests, 0);
      tokens := coalesce(h.tokens, 0);
    end if;
    if h.most_running is not null then
      -- Counted once for a key and a moment. Those of this group expire later than any of it was made.
      if h.created_at is distinct from counted_at then running := null; end if;
      if running is null then
        select count(*) + admitted into running from open_charges o where o.key_id = h.key_id and o.expires_at > h.created_at;
        counted_at := h.created_at;
      end if;
    end if;
    -- In the order of the guards in the batch of a hold.
    miss := case
      when available is null or available < h.held then 'balance'
      when requests >= h.most_requests or tokens >= h.most_tokens then 'rate'
      when running >= h.most_running then 'concurrency'
      when committed + h.held > h.most_committed then 'budget'
      when of_account + h.held > h.most_of_account then 'account budget'
      when h.taken_by is not null or h.idempotency_key = any (taken) then 'idempotency'
    end;
    missed[h.place] := miss;
    continue when miss is not null;
    available := available - h.held;
    running := running + 1;
    admitted := admitted + 1;
    committed := committed + h.held;
    of_account := of_account + h.held;
    if h.most_requests is not null then
      requests := requests + 1;
      tokens := tokens + h.window_tokens;
    end if;
    if h.idempotency_key is not null then taken := taken || h.idempotency_key; end if;
  end loop;
  return missed;
end $$`

/** The function that counts holds that fit in budgets, windows and idempotency keys. */
const COUNT = `create function count_holds(list charge_hold[], missed text[]) returns void language plpgsql as $$
declare
  windows int;
  counted int;
begin
  insert into budgets as b (key_id, period, committed)
  select i.key_id, i.budget_period, sum(i.held) from unnest(list) i
  where missed[i.place] is null and i.most_committed is not null group by 1, 2
  on conflict (key_id, period) do update set committed = b.committed + excluded.committed;
  insert into budgets as b (key_id, period, committed)
  select 'account:' || i.account, i.account_period, sum(i.held) from unnest(list) i
  where missed[i.place] is null and i.most_of_account is not null group by 1, 2
  on conflict (key_id, period) do update set committed = b.committed + excluded.committed;
  insert into saved_answers (account, idempotency_key, request_hash, charge, created_at)
  select i.account, i.idempotency_key, i.request_hash, i.id, i.created_at from unnest(list) i
  where missed[i.place] is null and i.idempotency_key is not null;
  select count(distinct (i.key_id, i.window_minute)) into windows from unnest(list) i
  where missed[i.place] is null and i.most_requests is not null;
  if windows = 0 then return; end if;
  insert into rate_windows as w (key_id, minute, requests, tokens)
  select i.key_id, i.window_minute, count(*), sum(i.window_tokens) from unnest(list) i
  where missed[i.place] is null and i.most_requests is not null group by 1, 2 order by 1, 2
  on conflict (key_id, minute) do update set requests = w.requests + excluded.requests, tokens = w.tokens + excluded.tokens
  where w.requests + excluded.requests <= (select max(i.most_requests) from unnest(list) i where i.key_id = excluded.key_id);
  get diagnostics counted = row_count;
  -- Requests that cost nothing count in a window without a lock on the account.
  if counted < windows then raise serialization_failure using message = 'a window has changed'; end if;
end $$`

/** Holds. Returns for each the name of the guard that missed, as its batch would, or null. */
const HOLD = `create function hold_charges(list charge_hold[]) returns text[] language plpgsql as $$
declare
  missed text[];
  is_plain boolean;
  fits boolean;
begin
  select coalesce(bool_and(sums.is_plain), true), coalesce(bool_and(coalesce(a.balance - a.held >= sums.held, false)), true)
  into is_plain, fits
  from (
    select i.account, sum(i.held)::bigint as held, bool_and(i.most_requests is null and i.most_running is null
      and i.most_committed is null and i.most_of_account is null and i.idempotency_key is null) as is_plain
    from unnest(list) i group by 1
  ) sums left join accounts a on a.name = sums.account;
  -- Where all fit together and have no other condition, nothing is to be decided about each.
  if is_plain and fits then
    missed := array_fill(null::text, array[cardinality(list)]);
  else
    missed := decide_holds(list);
    if array_position(missed, null) is null then return missed; end if;
  end if;
  with opened as (
    insert into open_charges (${namesOf(OPEN_FIELDS)})
    select ${namesIn(OPEN_FIELDS)} from unnest(list) i where missed[i.place] is null
  )
  update accounts set held = accounts.held + sums.held
  from (select i.account, sum(i.held)::bigint as held from unnest(list) i where missed[i.place] is null group by 1) sums
  where name = sums.account;
  if not is_plain then perform count_holds(list, missed); end if;
  return missed;
end $$`

/** The function that corrects budgets and windows after applied ends, and stores their answers. */
const COUNT_ENDS = `create function count_ends(list charge_end[], paid bigint[]) returns void language plpgsql as $$
begin
  update rate_windows w set tokens = w.tokens + sums.tokens
  from (select i.key_id, i.window_minute, sum(i.tokens - i.window_tokens)::bigint as tokens from unnest(list) i
    where paid[i.place] is not null and i.window_minute is not null group by 1, 2) sums
  where w.key_id = sums.key_id and w.minute = sums.window_minute;
  update budgets b set committed = b.committed + sums.amount
  from (select i.key_id, i.budget_period, sum(paid[i.place] - i.held)::bigint as amount from unnest(list) i
    where paid[i.place] is not null and i.budget_period is not null group by 1, 2) sums
  where b.key_id = sums.key_id and b.period = sums.budget_period;
  update budgets b set committed = b.committed + sums.amount
  from (select 'account:' || i.account as book, i.account_period, sum(paid[i.place] - i.held)::bigint as amount
    from unnest(list) i where paid[i.place] is not null and i.account_period is not null group by 1, 2) sums
  where b.key_id = sums.book and b.period = sums.account_period;
  update saved_answers s set status = i.answer_status, content_type = i.answer_type, body = i.answer_body
  from unnest(list) i where paid[i.place] is not null and s.charge = i.id and i.answer_status is not null;
  delete from saved_answers s using unnest(list) i where paid[i.place] is not null and s.charge = i.id and i.frees_key;
end $$`

/**
 * Settlements and releases. Returns what the account paid for each, or null if the charge is not open with that hold. If a charge
 * has two ends, the first wins.
 */
const END = `create function end_charges(list charge_end[]) returns bigint[] language plpgsql as $$
declare
  e record;
  paid bigint[] := array_fill(null::bigint, array[cardinality(list)]);
  ends int := 0;
  is_covered boolean := true;
  is_plain boolean := true;
  at_account text;
  available bigint;
begin
  for e in
    delete from open_charges o using unnest(list) i where o.key_id = i.key_id and o.id = i.id and o.held = i.held
    returning i.place, i.price, i.price <= i.held as is_covered, i.window_minute is null and i.budget_period is null
      and i.account_period is null and i.answer_status is null and i.frees_key is null as is_plain
  loop
    paid[e.place] := e.price;
    ends := ends + 1;
    is_covered := is_covered and e.is_covered;
    is_plain := is_plain and e.is_plain;
  end loop;
  if ends = 0 then return paid; end if;
  if not is_covered then
    for e in
      select i.place, i.account, i.held, i.price, a.balance - a.held as available
      from unnest(list) i join accounts a on a.name = i.account where paid[i.place] is not null
      order by i.account, i.key_id, i.id
    loop
      if e.account is distinct from at_account then
        at_account := e.account;
        available := e.available;
      end if;
      paid[e.place] := least(e.price, available + e.held);
      available := available + e.held - paid[e.place];
    end loop;
  end if;
  with entered as (
    insert into ended_charges (${namesOf(ENDED_FIELDS)}, amount, shortfall)
    select ${namesIn(ENDED_FIELDS)}, paid[i.place], i.price - paid[i.place] from unnest(list) i where paid[i.place] is not null
  )
  update accounts set balance = balance - sums.amount, held = accounts.held - sums.held
  from (select i.account, sum(paid[i.place])::bigint as amount, sum(i.held)::bigint as held from unnest(list) i
    where paid[i.place] is not null group by 1) sums
  where name = sums.account;
  if not is_plain then perform count_ends(list, paid); end if;
  return paid;
end $$`

/**
 * Runs the statements of one batch; the values of each are a list. Returns the guard that affected no row, or null.
 */
const RUN = `create function run_statements(list jsonb) returns jsonb language plpgsql as $$
declare
  statement jsonb;
  hits bigint;
begin
  for statement in select * from jsonb_array_elements(list) loop
    execute statement->>'sql' using statement->'values';
    get diagnostics hits = row_count;
    if hits = 0 and statement ? 'guard' then return statement->'guard'; end if;
  end loop;
  return null;
end $$`

/**
 * One movement with additional statements, all or nothing. Returns the guard that missed, or null if none did, and what was paid.
 */
const SINGLE = `create function move_single(single jsonb) returns jsonb language plpgsql as $$
declare
  missed jsonb;
  paid bigint;
begin
  begin
    if single ? 'end' then
      paid := (end_charges(array[jsonb_populate_record(null::charge_end, single->'end')]))[1];
      if paid is null then missed := '"charge"'; end if;
    elsif single ? 'hold' then
      missed := to_jsonb((hold_charges(array[jsonb_populate_record(null::charge_hold, single->'hold')]))[1]);
    end if;
    if missed is null then
      missed := run_statements(single->'statements');
      if missed is not null then raise exception using errcode = 'GW001'; end if;
    end if;
  exception when sqlstate 'GW001' then
    null;
  end;
  return jsonb_build_object('missed', missed, 'paid', paid);
end $$`

/**
 * A whole group. Its settings enforce the intended plans, whatever the tables contained when these were made: rows are found by
 * bitmap index scans, which need a condition. With plain index scans the server reads the whole index of open charges once it has
 * seen the table nearly empty.
 */
const MOVE = `create function move_money(names text, ends text, holds text, singles text) returns text language plpgsql
set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_material = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  ended bigint[];
  held text[];
  made jsonb := '[]';
  single jsonb;
begin
  perform 1 from accounts where name = any (names::text[]) order by name for update;
  if ends is not null then ended := end_charges(ends::charge_end[]); end if;
  if holds is not null then held := hold_charges(holds::charge_hold[]); end if;
  if singles is not null then
    for single in select * from jsonb_array_elements(singles::jsonb) loop
      made := made || move_single(single);
    end loop;
  end if;
  return json_build_object('ends', ended, 'holds', held, 'singles', made)::text;
end $$`

/** Types, then functions in order of dependency. */
export const MOVEMENT_FUNCTIONS: readonly string[] = [
  typeOf('hold'),
  typeOf('end'),
  DECIDE,
  COUNT,
  HOLD,
  COUNT_ENDS,
  END,
  RUN,
  SINGLE,
  MOVE,
]
