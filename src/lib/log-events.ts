// The events of the log in one table: how much each matters, what it means, and what helps. The page of events is made from it, and a
// test finds events that are logged without being listed here.

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

interface LogEvent {
  level: Level
  meaning: string
  /** The step that helps. Undefined if nothing needs to be done. */
  cure?: string
}

const debug = (meaning: string): LogEvent => ({ level: 'debug', meaning })
const info = (meaning: string): LogEvent => ({ level: 'info', meaning })
const warn = (meaning: string, cure: string): LogEvent => ({ level: 'warn', meaning, cure })
const error = (meaning: string, cure: string): LogEvent => ({ level: 'error', meaning, cure })

export const logEvents: Readonly<Record<string, LogEvent>> = {
  admin_login_failed: warn(
    'Somebody tried the admin API with a wrong token.',
    'Many from one address: block it. `gateway admins list` shows who has tokens.',
  ),
  admin_refused: warn(
    'An admin tried something that their role does not allow.',
    'Create an admin with a higher role, or ask what they wanted to do.',
  ),
  answer_not_delivered: warn(
    'A whole answer cost more than its account could pay: it was neither delivered nor charged, but the vendor bills it.',
    'Make the vendor respect `max_tokens`, or raise `reserveOutputTokens` of the model for requests without a limit.',
  ),
  artifact_left_behind: warn(
    'A deleted result remains in a place that is no longer configured.',
    'Remove it from the place that `artifacts` named before.',
  ),
  artifact_lost: error(
    'The file of a kept result is missing.',
    'Find out who deletes files there; restore it from a copy.',
  ),
  artifact_not_kept: warn(
    "A result could not be copied; the vendor's own URL was returned instead.",
    'Check the free space, permissions and network of `artifacts`: `gateway doctor`.',
  ),
  artifact_not_removed: warn(
    'The file of a result could not be deleted. It is tried again.',
    'Check the permissions of `artifacts`.',
  ),
  artifact_removed_early: warn(
    'A result was deleted before its time, because `artifacts.maxBytes` was reached.',
    'Raise `artifacts.maxBytes`, or shorten `artifacts.keep`.',
  ),
  background_cut: warn('A background response was cut off.', 'Its caller must send it again.'),
  background_lost: warn(
    'While this process was silent, another one ended a background response as failed. Its price was released.',
    'Its caller must send it again. Check whether processes were paused or the database was unavailable.',
  ),
  background_not_written: warn(
    'Events of a background response could not be written. They are tried again.',
    'See `database_unavailable`.',
  ),
  backup_failed: error(
    'A backup could not be made.',
    'Check the free space and permissions of its place; try `gateway backup`.',
  ),
  backup_made: info('A backup was made.'),
  books_wrong: error(
    'The books are inconsistent: see `gateway balance verify`.',
    'Stop selling, copy the database, and report the output of `gateway balance verify`.',
  ),
  cache_not_read: warn(
    'The response cache could not be read: the request went to its vendor.',
    'See `database_unavailable`. If it repeats for one account, report the reason.',
  ),
  cache_not_written: warn(
    'An answer could not be stored in the response cache: the next equal request goes to the vendor.',
    'See `database_unavailable`.',
  ),
  certificate_renewed: info('A new certificate was read from the files of `server.tls`.'),
  charges_closed: info('A month of charges was closed: its archive is in place.'),
  charges_not_closed: error(
    'Old charges could not be closed or removed. Nothing is lost, and it is tried again.',
    'The reason says why; `gateway retention show` names the place of the archives.',
  ),
  charge_late: warn(
    'The hold of an answer had been released before it ended: it was charged late, from what the account has available.',
    'If there are many, look for paused processes and wrong clocks. The operator pays a shortfall.',
  ),
  charge_not_ended: error(
    'A charge could not be ended: nothing is paid, and its hold is released when it expires.',
    '`gateway requests show ID`. Ends stored on the disk are applied at the next start: `gateway doctor`.',
  ),
  charge_not_ended_yet: warn(
    'The database could not end a charge. Its end is on the disk and is tried again, if necessary by the next process.',
    'See `database_unavailable`.',
  ),
  clock_jumped: warn(
    "The machine's clock was set by more than ten seconds; the gateway's own follows slowly.",
    'Set up a time service.',
  ),
  models_discovered: info('Model servers list different models now, which are served.'),
  models_not_discovered: warn(
    'A model server did not list its models; the last known list stays in use.',
    '`gateway upstreams test NAME`: the server must run and answer.',
  ),
  config_not_reloaded: error(
    'A changed configuration has faults; the previous one stays in use.',
    '`gateway config check`, fix the file, and `gateway config reload`.',
  ),
  config_reloaded: info('A changed configuration was loaded.'),
  connections_accepted: info('New connections are accepted again.'),
  connections_closed: warn(
    'Idle connections were closed because there were too many.',
    'Raise `server.maxConnections`, or let proxies keep fewer connections open.',
  ),
  connections_not_accepted: error(
    'New connections are refused: the limit is reached.',
    'Raise `server.maxConnections` and the limit of open files, or add a node.',
  ),
  connections_not_steered: warn(
    'New connections cannot be directed to the new process: some may be reset when the older one stops.',
    'Restart while fewer callers are connected.',
  ),
  connections_refused: warn(
    'Connections from one address were refused: it has too many.',
    'If this is your proxy, add it to `server.trustedProxies`; otherwise ignore this message.',
  ),
  console_login_failed: warn(
    'Somebody tried to sign in to the console with a wrong token, key or link.',
    'Many from one address: set `console.allowRemote` to false, or block the path in the proxy.',
  ),
  issuer_unreachable: warn(
    'An identity provider of `signIn` did not answer. Its sessions continue for ten minutes without an answer.',
    'Check that it runs, and that this machine can reach the address in the reason.',
  ),
  sign_in_refused: warn(
    "A sign-in by an identity provider, or one of its tokens, was refused: the reason is the provider's error or a claim.",
    'Compare `signIn` of the configuration with the client at the provider: its id, its secret and its redirect URL.',
  ),
  audit_entry_lost: warn(
    'A command was carried out but is missing from the audit trail.',
    'Check the database: the entry could not be written.',
  ),
  control_unavailable: warn(
    'Commands such as `config reload` cannot reach this process.',
    'Check the permissions of the data directory; SIGHUP still reloads.',
  ),
  database_not_compacted: warn(
    'The database could not be rewritten after it was encrypted.',
    'Free some disk space; it is tried again the next time.',
  ),
  database_unavailable: error(
    'The database accepts no changes or does not answer.',
    '`gateway doctor`: the disk is full or not writable, or PostgreSQL is unavailable.',
  ),
  database_upgraded: info('The database has the schema of this version.'),
  database_upgrading: info(
    'The database is being upgraded to the schema of this version; a file is copied first, and the copy is named. Older versions then refuse it.',
  ),
  encryption_key_unknown: error(
    'Another process encrypts with a key that this one lacks.',
    'Add the key of the other process to `secrets`.',
  ),
  event_not_delivered: error(
    'An event could not be delivered to its recipient for three days; delivery has stopped.',
    '`gateway events test`, then `gateway events redeliver`.',
  ),
  hold_not_extended: warn(
    'The database did not accept the next hold of a stream in time: the stream ends as if at its limit.',
    'See `database_unavailable`. The account does not need more money; the request can be repeated.',
  ),
  internal_error: error('A fault of the gateway itself.', 'Report it with its message.'),
  job_failed: warn('A background job failed.', 'Read its message; the job runs again automatically.'),
  metric_not_read: warn(
    'A metric could not be read, and is missing from the answer.',
    'See `database_unavailable`.',
  ),
  oauth_reuse: warn(
    'A code or a refresh token of a program was used twice. Its access has ended.',
    'Its holder must allow the program again. If it happens again, the program leaks its tokens: revoke it.',
  ),
  payment_credited: info('A payment was credited to its account.'),
  payment_not_credited: error(
    'A payment could not be credited, for the reason in the line. The service repeats the report for three days.',
    'Credit it with `gateway balance add`.',
  ),
  payment_refused: warn(
    'The signature of a payment report was missing or wrong.',
    'Check `payments.stripe.signingSecret` and the clock.',
  ),
  pending_ends_made: info('Ends of charges that an earlier process had left on the disk were applied.'),
  pending_ends_no_room: error(
    'There is no space for the file of pending ends: while the database refuses changes, answers are sent without their last byte.',
    'Free some space in the data directory, and restart.',
  ),
  price_drift: warn(
    'The price that a vendor reports for a request differs by more than 1 % from our price list. Logged once per model and day.',
    '`gateway requests show ID`, `gateway reconcile --own`; then `gateway prices update`, or set the price in the configuration.',
  ),
  receipt_not_signed: error(
    'A receipt could not be made. The answer was sent without it; the receipt can be requested later.',
    'See `row_unreadable`: the secret `receipts` cannot be read.',
  ),
  request: info('A request has ended.'),
  request_bodies_lost: warn(
    'Bodies of requests could not be stored.',
    'Free some space, or log fewer bodies.',
  ),
  request_failed: warn(
    'A request failed for a reason not shown to its caller.',
    '`gateway requests show ID` has the cause; `gateway upstreams test NAME`.',
  ),
  request_malformed: warn(
    'A request looks like a probe: no client of the API sends it.',
    'Ignore it; use a firewall if there are many.',
  ),
  request_rows_lost: warn(
    'Rows of the request log could not be stored.',
    'Check the store of the request log: `gateway doctor`.',
  ),
  results_not_kept: warn('Results of a request could not be kept.', 'See `artifact_not_kept`.'),
  route_next: info('A model of a route could not answer. The next one is tried.'),
  row_unreadable: error(
    'A row cannot be decrypted with the keys of this process.',
    'Add the older key to `secrets.olderKeys`.',
  ),
  replica_not_used: warn(
    'The replica is unavailable or too far behind: reports read the database itself.',
    'Start the replica, or find out what delays it; it is tried again automatically.',
  ),
  replica_used: info('Reports read the replica again.'),
  rows_encrypted: info('All rows are encrypted with the current key.'),
  rows_encrypting: info('Rows are being encrypted with the current key.'),
  slow_caller_cut: warn(
    'An answer was cut because too many bytes are buffered for callers that do not read them: the slowest is cut first.',
    'Find the key whose caller does not read its answers, and limit its requests.',
  ),
  task_end_lost: warn(
    'A task had already ended when its end was reported.',
    'Nothing: the first end counts.',
  ),
  stop_not_complete: warn(
    'A stopping process reached its deadline before all its work was done.',
    'See `database_unavailable`: the next start, or another node, completes it.',
  ),
  task_ended: info('A video task has ended.'),
  task_id_refused: error(
    'A vendor returned the id of another task.',
    'Contact the vendor; see `gateway tasks show ID`.',
  ),
  task_not_recovered: warn(
    'A task of a dead process could not be taken over. It is tried again.',
    'See `database_unavailable`.',
  ),
  task_not_stored_yet: warn(
    "A vendor's id of a task could not be stored. It is tried again.",
    'See `database_unavailable`.',
  ),
  task_poll_failed: warn(
    'The state of a task could not be read from its vendor.',
    '`gateway upstreams test NAME`; the task continues.',
  ),
  task_poll_without_answer: warn(
    "A vendor's answer says nothing about the task.",
    '`gateway tasks show ID`; it is asked again.',
  ),
  task_results_not_deleted: warn(
    'A task was deleted, but not all of its results.',
    'Check the permissions of `artifacts`.',
  ),
  task_succeeded_late: warn(
    'A vendor reports a success after the task has failed: it is charged once.',
    "Raise the deadline of the upstream's tasks if there are many.",
  ),
  task_unknown: error(
    'It is unknown whether a vendor has begun a task.',
    "Check in the vendor's console, then `gateway tasks reconcile`.",
  ),
  task_wait_failed: warn(
    'Waiting for the end of a task failed; the task continues.',
    'Its caller can request the task again.',
  ),
  telemetry_lost: warn(
    'Traces or logs could not be sent to the collector, and were dropped.',
    'Check the collector and `telemetry.endpoint`.',
  ),
  upstream_file_refused: warn(
    'The file of a result could not be fetched from its vendor.',
    "Allow the host in `fileHosts` of the upstream, if it is the vendor's.",
  ),
  unknown_callers_omitted: warn(
    'Requests with a missing or unknown key were counted, but have no rows and lines: at most 10 are logged per network and minute.',
    'If they do not stop, block the network in your proxy or firewall.',
  ),
  upstream_refused_operator: error(
    "A vendor refuses the operator's account: its key, billing or permissions.",
    '`gateway upstreams test NAME`; pay the bill, or set another key.',
  ),
  upstream_usage_invalid: warn(
    "A vendor's usage is implausible; the request was charged by the gateway's own count.",
    "`gateway requests show ID`; compare with the vendor's invoice.",
  ),
  usage_above_quote: warn(
    'A vendor counted more than a request could use by its size and limit: hidden prompts, results of its tools, or a mistake. Tokens were charged, but calls of its tools only up to the hold.',
    "`gateway requests show ID`; compare with the vendor's invoice.",
  ),
  video_cut: warn('A video was cut off while it was sent to a caller.', 'Its caller can download it again.'),
  webhook_attempt: debug('A webhook was sent, or could not be sent.'),
  webhook_failed: warn(
    'A webhook could not be sent. It is tried again.',
    '`gateway tasks show ID`; the receiver must answer 2xx.',
  ),
}

/** How much an event matters. */
export function levelOf(event: string): Level {
  return logEvents[event]?.level ?? 'warn'
}

export function isLevel(level: Level, least: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least)
}
