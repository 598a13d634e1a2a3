// The functions on PostgreSQL that make a group of movements in one call: what the ledger's statements do one by one, for
// many at once. They must answer what the statements would have answered in some order, and lock accounts before
// anything else, by name. These take JSON, for gateways of before: movements/records.ts has what is called now. A function that
// has been released must never change.

/** The columns of both lists in the argument that are not texts. */
const TYPES = new Map(
  Object.entries({
    bigint:
      `held window_minute window_tokens created_at expires_at most_requests most_tokens most_running most_committed
      price price_list tokens ended_at answer_status series usage_shape cost most_of_account metadata_id`.split(
        /\s+/,
      ),
    smallint: ['state', 'usage_source', 'ended_by'],
    boolean: ['frees_key'],
  }).flatMap(([type, names]) => names.map((name) => [name, type] as const)),
)

/** The rows of a list with some of their columns: each that is read takes time. */
function rowsOf(columns: string): string {
  const typed = columns.split(/[\s,]+/).map((name) => `${name} ${TYPES.get(name) ?? 'text'}`)
  return `jsonb_to_recordset(list) as i(place int, ${typed.join(', ')})`
}

/** The versions of the functions: the second writes costs, the third counts in budgets of accounts, the fourth knows metadata. */
type Version = 1 | 2 | 3 | 4

/** The version of the function for holds that a version of the others calls: costs change nothing in holds. */
const holdVersion = (version: Version) => (version === 2 ? 1 : version)

/** A part of a function that it has from a version on. */
function onlyFor(since: Version, version: Version, part: string): string {
  return version >= since ? part : ''
}

const OPEN_COLUMNS = `id, account, key_id, model, operation, held, price_list, budget_period, window_minute, window_tokens,
  created_at, expires_at`
const openColumns = (version: Version) =>
  OPEN_COLUMNS + onlyFor(3, version, ', account_period') + onlyFor(4, version, ', metadata_id')
const HOLD_COLUMNS = `account, key_id, held, budget_period, window_minute, window_tokens, created_at, most_requests,
  most_tokens, most_running, most_committed, idempotency_key`

/**
 * Holds. First each is decided in memory, one after the other, from what was there before and what those before it took;
 * then all that fit are written together. Answers for each the index of the guard that missed, as its batch would, or -1.
 */
const holdFunction = (
  version: Version,
) => `create function hold_charges_${holdVersion(version)}(list jsonb) returns int[] language plpgsql as $$
declare
  h record;
  missed int[] := array_fill(0, array[jsonb_array_length(list)]);
  miss int;
  at_account text;
  at_key text;
  at_period text;
  at_minute bigint;
  available bigint;
  running bigint;
  counted_at bigint;
  admitted bigint;
  requests bigint;
  tokens bigint;
  committed bigint;${onlyFor(
    3,
    version,
    `
  at_account_period text;
  of_account bigint;`,
  )}
  taken text[];
  windows int := 0;
  counted int;
begin
  for h in
    select i.place, i.account, i.key_id, i.held, i.budget_period, i.window_minute, i.window_tokens, i.most_requests,
      i.most_tokens, i.most_running, i.most_committed, i.idempotency_key, a.balance - a.held as available,
      i.created_at, w.requests, w.tokens, b.committed, s.charge as taken_by${onlyFor(3, version, ', i.account_period, i.most_of_account, ab.committed as of_account')}
    from ${rowsOf(HOLD_COLUMNS + onlyFor(3, version, ', account_period, most_of_account'))}
    left join accounts a on a.name = i.account
    left join rate_windows w on w.key_id = i.key_id and w.minute = i.window_minute
    left join budgets b on b.key_id = i.key_id and b.period = i.budget_period${onlyFor(
      3,
      version,
      `
    left join budgets ab on ab.key_id = 'account:' || i.account and ab.period = i.account_period`,
    )}
    left join saved_answers s on s.account = i.account and s.idempotency_key = i.idempotency_key
    order by i.account, i.key_id, i.window_minute, i.place
  loop
    if h.account is distinct from at_account then
      at_account := h.account;
      available := h.available;
      taken := '{}';${onlyFor(
        3,
        version,
        `
      at_account_period := null;`,
      )}
    end if;${onlyFor(
      3,
      version,
      `
    if h.account_period is not null and h.account_period is distinct from at_account_period then
      if at_account_period is not null then raise exception 'holds of one account in two periods'; end if;
      at_account_period := h.account_period;
      of_account := coalesce(h.of_account, 0);
    end if;`,
    )}
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
      counted := 0;
    end if;
    if h.most_running is not null then
      -- Counted once for a key and a moment. Those of this group expire later than any of it was made.
      if h.created_at is distinct from counted_at then running := null; end if;
      if running is null then
        select count(*) + admitted into running from open_charges o where o.key_id = h.key_id and o.expires_at > h.created_at;
        counted_at := h.created_at;
      end if;
    end if;
    -- The numbers of the guards in the batch of a hold: the account, then the conditions that it has.
    miss := -1;
    if available is null or available < h.held then
      miss := 0;
    elsif h.most_requests is not null and (requests >= h.most_requests or tokens >= h.most_tokens) then
      miss := 1;
    elsif running >= h.most_running then
      miss := 1 + (h.most_requests is not null)::int;
    elsif committed + h.held > h.most_committed then
      miss := 1 + (h.most_requests is not null)::int + (h.most_running is not null)::int;${onlyFor(
        3,
        version,
        `
    elsif of_account + h.held > h.most_of_account then
      miss := 1 + (h.most_requests is not null)::int + (h.most_running is not null)::int
        + (h.most_committed is not null)::int;`,
      )}
    elsif h.taken_by is not null or h.idempotency_key = any (taken) then
      miss := 1 + (h.most_requests is not null)::int + (h.most_running is not null)::int
        + (h.most_committed is not null)::int${onlyFor(3, version, ' + (h.most_of_account is not null)::int')};
    end if;
    missed[h.place] := miss;
    continue when miss >= 0;
    available := available - h.held;
    running := running + 1;
    admitted := admitted + 1;
    committed := committed + h.held;${onlyFor(
      3,
      version,
      `
    of_account := of_account + h.held;`,
    )}
    if h.most_requests is not null then
      if counted = 0 then windows := windows + 1; end if;
      counted := counted + 1;
      requests := requests + 1;
      tokens := tokens + h.window_tokens;
    end if;
    if h.idempotency_key is not null then taken := taken || h.idempotency_key; end if;
  end loop;
  if -1 <> all (missed) then return missed; end if;
  with i as materialized (
    select i.* from ${rowsOf(openColumns(version))}
    where missed[i.place] = -1
  ),
  opened as (
    insert into open_charges (${openColumns(version)}) select ${openColumns(version)} from i
  )
  update accounts set held = accounts.held + sums.held
  from (select account, sum(held) as held from i group by 1) sums where name = sums.account;
  -- Each statement takes time also where it has nothing to do.
  if list @? '$[*].most_committed' then
    insert into budgets as b (key_id, period, committed)
    select i.key_id, i.budget_period, sum(i.held) from ${rowsOf('key_id, budget_period, held, most_committed')}
    where missed[i.place] = -1 and i.most_committed is not null group by 1, 2
    on conflict (key_id, period) do update set committed = b.committed + excluded.committed;
  end if;
${onlyFor(
  3,
  version,
  `  if list @? '$[*].most_of_account' then
    insert into budgets as b (key_id, period, committed)
    select 'account:' || i.account, i.account_period, sum(i.held) from ${rowsOf('account, account_period, held, most_of_account')}
    where missed[i.place] = -1 and i.most_of_account is not null group by 1, 2
    on conflict (key_id, period) do update set committed = b.committed + excluded.committed;
  end if;
`,
)}  if list @? '$[*].idempotency_key' then
    insert into saved_answers (account, idempotency_key, request_hash, charge, created_at)
    select i.account, i.idempotency_key, i.request_hash, i.id, i.created_at
    from ${rowsOf('account, idempotency_key, request_hash, id, created_at')}
    where missed[i.place] = -1 and i.idempotency_key is not null;
  end if;
  if windows > 0 then
    insert into rate_windows as w (key_id, minute, requests, tokens)
    select i.key_id, i.window_minute, count(*), sum(i.window_tokens) from ${rowsOf('key_id, window_minute, window_tokens, most_requests')}
    where missed[i.place] = -1 and i.most_requests is not null group by 1, 2 order by 1, 2
    on conflict (key_id, minute) do update set requests = w.requests + excluded.requests, tokens = w.tokens + excluded.tokens
    where w.requests + excluded.requests <= (select max(i.most_requests) 
      from ${rowsOf('key_id, most_requests')} where i.key_id = excluded.key_id);
    get diagnostics counted = row_count;
    -- Requests that cost nothing count in a window without a lock on the account.
    if counted < windows then raise serialization_failure using message = 'a window has changed'; end if;
  end if;
  return missed;
end $$`

const ENDED_COLUMNS = `id, series, price_list, state, held, usage_shape, usage, usage_source, ended_by, created_at,
  ended_at`
const endedColumns = (version: Version) => (version === 1 ? ENDED_COLUMNS : `${ENDED_COLUMNS}, cost`)

/**
 * Settlements and releases, in the same way. Answers for each what the account paid, or -1 where the charge is not open
 * with that hold.
 */
const endFunction = (
  version: Version,
) => `create function end_charges_${version}(list jsonb) returns bigint[] language plpgsql as $$
declare
  e record;
  paid bigint[] := array_fill(-1::bigint, array[jsonb_array_length(list)]);
  at_account text;
  at_charge text;
  available bigint;
  ends int := 0;
  closed int;
begin
  for e in
    select i.place, i.account, i.key_id, i.id, i.held, i.price, a.balance - a.held as available
    from ${rowsOf('id, account, key_id, held, price')}
    join open_charges o on o.key_id = i.key_id and o.id = i.id and o.held = i.held
    join accounts a on a.name = i.account
    order by i.account, i.key_id, i.id, i.place
  loop
    if e.account is distinct from at_account then
      at_account := e.account;
      at_charge := null;
      available := e.available;
    end if;
    -- The second of two ends of one charge.
    continue when e.id = at_charge;
    at_charge := e.id;
    paid[e.place] := least(e.price, available + e.held);
    available := available + e.held - paid[e.place];
    ends := ends + 1;
  end loop;
  if ends = 0 then return paid; end if;
  delete from open_charges o using ${rowsOf('id, key_id')} where paid[i.place] >= 0 and o.key_id = i.key_id and o.id = i.id;
  get diagnostics closed = row_count;
  if closed <> ends then raise serialization_failure using message = 'a charge has ended meanwhile'; end if;
  with i as materialized (
    select i.*, paid[i.place] as amount from ${rowsOf(`${endedColumns(version)}, account, price`)} where paid[i.place] >= 0
  ),
  entered as (
    insert into ended_charges (${endedColumns(version)}, amount, shortfall)
    select ${endedColumns(version)}, amount, price - amount from i
  )
  update accounts set balance = balance - sums.amount, held = accounts.held - sums.held
  from (select account, sum(amount) as amount, sum(held) as held from i group by 1) sums where name = sums.account;
  -- Each statement takes time also where it has nothing to do.
  if list @? '$[*].window_minute' then
    update rate_windows w set tokens = w.tokens + sums.tokens
    from (select i.key_id, i.window_minute, sum(i.tokens - i.window_tokens) as tokens
      from ${rowsOf('key_id, window_minute, window_tokens, tokens')}
      where paid[i.place] >= 0 and i.window_minute is not null group by 1, 2) sums
    where w.key_id = sums.key_id and w.minute = sums.window_minute;
  end if;
  if list @? '$[*].budget_period' then
    update budgets b set committed = b.committed + sums.amount
    from (select i.key_id, i.budget_period, sum(paid[i.place] - i.held) as amount
      from ${rowsOf('key_id, budget_period, held')}
      where paid[i.place] >= 0 and i.budget_period is not null group by 1, 2) sums
    where b.key_id = sums.key_id and b.period = sums.budget_period;
  end if;
${onlyFor(
  3,
  version,
  `  if list @? '$[*].account_period' then
    update budgets b set committed = b.committed + sums.amount
    from (select 'account:' || i.account as book, i.account_period, sum(paid[i.place] - i.held) as amount
      from ${rowsOf('account, account_period, held')}
      where paid[i.place] >= 0 and i.account_period is not null group by 1, 2) sums
    where b.key_id = sums.book and b.period = sums.account_period;
  end if;
`,
)}  if list @? '$[*].answer_status' then
    update saved_answers s set status = i.answer_status, content_type = i.answer_type, body = i.answer_body
    from ${rowsOf('id, answer_status, answer_type, answer_body')}
    where paid[i.place] >= 0 and s.charge = i.id and i.answer_status is not null;
  end if;
  if list @? '$[*].frees_key' then
    delete from saved_answers s using ${rowsOf('id, frees_key')}
    where paid[i.place] >= 0 and s.charge = i.id and i.frees_key;
  end if;
  return paid;
end $$`

/**
 * Runs the statements of one batch with their values, which are a list in each. Answers the index of the guarded one that
 * hit no row, or -1.
 */
const RUN = `create function run_statements_1(list jsonb) returns int language plpgsql as $$
declare
  statement jsonb;
  hits bigint;
  index int := 0;
begin
  for statement in select * from jsonb_array_elements(list) loop
    execute statement->>'sql' using statement->'values';
    get diagnostics hits = row_count;
    if hits = 0 and (statement->>'guard')::boolean then return index; end if;
    index := index + 1;
  end loop;
  return -1;
end $$`

/**
 * One movement that has statements besides, all or nothing. Answers the index of the guard that missed or -1, and what the
 * account paid.
 */
const singleFunction = (
  version: Version,
) => `create function move_single_${version}(single jsonb) returns jsonb language plpgsql as $$
declare
  missed int := -1;
  paid bigint;
begin
  begin
    if single ? 'end' then
      paid := (end_charges_${version}(jsonb_build_array(single->'end')))[1];
      if paid < 0 then missed := 0; end if;
    elsif single ? 'hold' then
      missed := (hold_charges_${holdVersion(version)}(jsonb_build_array(single->'hold')))[1];
    end if;
    if missed < 0 then
      missed := run_statements_1(single->'statements');
      if missed >= 0 then
        missed := missed + (single->>'from')::int;
        raise exception using errcode = 'GW001';
      end if;
    end if;
  exception when sqlstate 'GW001' then
    null;
  end;
  return jsonb_build_object('missed', missed, 'paid', paid);
end $$`

/** A whole group. Its settings keep the plans as they were meant, whatever the tables held when they were made. */
const moveFunction = (
  version: Version,
) => `create function move_money_${version}(movements text) returns text language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  groups jsonb := movements::jsonb;
  ends bigint[];
  holds int[];
  singles jsonb := '[]';
  single jsonb;
begin
  perform 1 from accounts where name = any (array(select jsonb_array_elements_text(groups->'accounts')))
    order by name for update;
  if groups ? 'ends' then ends := end_charges_${version}(groups->'ends'); end if;
  if groups ? 'holds' then holds := hold_charges_${holdVersion(version)}(groups->'holds'); end if;
  if groups ? 'singles' then
    for single in select * from jsonb_array_elements(groups->'singles') loop
      singles := singles || move_single_${version}(single);
    end loop;
  end if;
  return json_build_object('ends', ends, 'holds', holds, 'singles', singles)::text;
end $$`

export const MOVEMENT_FUNCTIONS: readonly string[] = [
  holdFunction(1),
  endFunction(1),
  RUN,
  singleFunction(1),
  moveFunction(1),
]

/** The functions that write the cost of a charge too. */
export const MOVEMENT_FUNCTIONS_WITH_COST: readonly string[] = [
  endFunction(2),
  singleFunction(2),
  moveFunction(2),
]

/** The functions that count in budgets of accounts too. */
export const MOVEMENT_FUNCTIONS_WITH_ACCOUNT_BUDGETS: readonly string[] = [
  holdFunction(3),
  endFunction(3),
  singleFunction(3),
  moveFunction(3),
]

/** The functions that write metadata of charges too. */
export const MOVEMENT_FUNCTIONS_WITH_METADATA: readonly string[] = [
  holdFunction(4),
  endFunction(4),
  singleFunction(4),
  moveFunction(4),
]
