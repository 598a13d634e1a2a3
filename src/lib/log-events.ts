// The events of the log in one table: how much each matters, what it means, and what helps. The page of events is made of it, and a
// test finds what is logged without standing here.

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

interface LogEvent {
  level: Level
  meaning: string
  /** The step that helps; undefined where there is nothing to do. */
  cure?: string
}

const debug = (meaning: string): LogEvent => ({ level: 'debug', meaning })
const info = (meaning: string): LogEvent => ({ level: 'info', meaning })
const warn = (meaning: string, cure: string): LogEvent => ({ level: 'warn', meaning, cure })
const error = (meaning: string, cure: string): LogEvent => ({ level: 'error', meaning, cure })

export const logEvents: Readonly<Record<string, LogEvent>> = {
  admin_login_failed: warn(
    'Somebody tried the admin API with a wrong token.',
    'Many of one address: close the port to it; `gateway admins list` shows who has tokens.',
  ),
  admin_refused: warn(
    'An admin tried what their role does not allow.',
    'Give a higher role with `gateway admins create`, or ask what they meant to do.',
  ),
  answer_not_delivered: warn(
    'A whole answer cost more than its account could pay: it was neither delivered nor charged, and the vendor bills it.',
    'Make the vendor keep `max_tokens`, or raise `reserveOutputTokens` of the model for requests without a limit.',
  ),
  artifact_left_behind: warn(
    'A deleted result stays in a place that is no longer configured: remove it there.',
    'Remove it in the place that `artifacts` named before.',
  ),
  artifact_lost: error(
    'A kept result is missing from its place.',
    'Look who deletes files there; restore it from a copy of the place.',
  ),
  artifact_not_kept: warn(
    "A result could not be copied; the vendor's own address was given instead.",
    'Look at the room, the rights and the network of `artifacts`: `gateway doctor`.',
  ),
  artifact_not_removed: warn(
    'A result could not be deleted from its place, and is tried again.',
    'Look at the rights of `artifacts`.',
  ),
  artifact_removed_early: warn(
    'A result was deleted before its time, because `artifacts.maxBytes` was reached.',
    'Raise `artifacts.maxBytes`, or keep for a shorter time.',
  ),
  background_cut: warn('A response in the background was cut off.', 'Its caller sends it again.'),
  background_lost: warn(
    'A response in the background was ended as failed by another process while this one was silent. It was released.',
    'Its caller sends it again. See whether processes are paused, or the database was away.',
  ),
  background_not_written: warn(
    'Events of a response in the background could not be written, and are tried again.',
    'See `database_unavailable`.',
  ),
  backup_failed: error(
    'A backup could not be made.',
    'Look at the room and the rights of its place; try `gateway backup`.',
  ),
  backup_made: info('A backup was made.'),
  books_wrong: error(
    'The books do not add up: see `gateway balance verify`.',
    'Stop selling, keep a copy of the database, and report what `gateway balance verify` prints.',
  ),
  cache_not_read: warn(
    'The response cache could not be read: the request went to its vendor.',
    'See `database_unavailable`. Of one account again and again: report the reason.',
  ),
  cache_not_written: warn(
    'An answer could not be kept in the response cache: the next request like it goes to the vendor.',
    'See `database_unavailable`.',
  ),
  certificate_renewed: info('Another certificate was read from the files of `server.tls`.'),
  charges_closed: info('A month of charges was closed: its archive is in place.'),
  charges_not_closed: error(
    'Old charges could not be closed or removed: nothing is lost, and it is tried again.',
    'The reason says why; `gateway retention show` names the place of the archives.',
  ),
  charge_late: warn(
    'The hold of an answer had been released before it ended: it was charged late, from what the account has available.',
    'Many: look for processes that are paused and clocks that are wrong. A shortfall is paid by the operator.',
  ),
  charge_not_ended: error(
    'A charge could not be ended: nothing is paid, and its hold is given back when it expires. Look the request up.',
    '`gateway requests show ID`; the hold is given back by itself. What is left on the disk is tried at the next start: `gateway doctor`.',
  ),
  charge_not_ended_yet: warn(
    'The database could not end a charge. Its end is on the disk and is tried again, by the next process if need be.',
    'See `database_unavailable`.',
  ),
  clock_jumped: warn(
    "The machine's clock was set by more than ten seconds; the gateway's own follows slowly.",
    'Set up a time service.',
  ),
  models_discovered: info('Servers of the operator list other models than before; these are served now.'),
  models_not_discovered: warn(
    'A server of the operator does not tell of its models; those that it last had are still served.',
    '`gateway upstreams test NAME`: the server must run and answer.',
  ),
  config_not_reloaded: error(
    'A changed configuration has faults; the one before stays in force.',
    '`gateway config check`, mend, and `gateway config reload`.',
  ),
  config_reloaded: info('Another configuration is in force.'),
  connections_accepted: info('New connections are taken again.'),
  connections_closed: warn(
    'Silent connections were closed, because there were too many.',
    'Raise `server.maxConnections`, or shorten what proxies keep open.',
  ),
  connections_not_accepted: error(
    'New connections are not taken: the limit is reached.',
    'Raise `server.maxConnections` and the limit of open files, or add a node.',
  ),
  connections_not_steered: warn(
    'New connections cannot be led past an older process: some may be reset when it stops.',
    'Restart while fewer callers are connected.',
  ),
  connections_refused: warn(
    'Connections of one address were refused: it has too many.',
    'A proxy: name it in `server.trustedProxies`. A guest: leave it so.',
  ),
  console_login_failed: warn(
    'Somebody tried to sign in to the console with a wrong token, key or link.',
    'Many of one address: set `console.allowRemote` to false, or close the path to it in the proxy.',
  ),
  audit_entry_lost: warn(
    'What a command asked for is done, and is not in the audit trail.',
    'Look at the database: the entry could not be written.',
  ),
  control_unavailable: warn(
    'Commands cannot reach this process, as `config reload` would.',
    'Look at the rights of the data directory; SIGHUP still reloads.',
  ),
  database_not_compacted: warn(
    'The database could not be rewritten after it was encrypted.',
    'Make room on the disk; it is tried again at the next rewriting.',
  ),
  database_unavailable: error(
    'The database takes no changes or does not answer.',
    '`gateway doctor`: the disk is full or not writable, or PostgreSQL is away.',
  ),
  database_upgraded: info('The database has the schema of this version.'),
  database_upgrading: info(
    'The database is brought to the schema of this version: a file after a checked copy, which is named. Older versions refuse it then.',
  ),
  encryption_key_unknown: error(
    'Another process encrypts with a key that this one lacks.',
    'Give this process the key of the others in `secrets`.',
  ),
  event_not_delivered: error(
    'An event could not be delivered to its recipient for three days, and was given up.',
    '`gateway events test`, then `gateway events redeliver`.',
  ),
  hold_not_extended: warn(
    'The database did not take the next step of a stream within its time: the stream ends as at its limit.',
    'See `database_unavailable`. The account need not pay for more; the request can be repeated.',
  ),
  internal_error: error('A fault of the gateway itself: please report it with its text.', 'Report it.'),
  job_failed: warn(
    'A job in the background failed, and runs again.',
    'Read its text; it runs again by itself.',
  ),
  metric_not_read: warn(
    'A metric could not be read, and is missing from the answer.',
    'See `database_unavailable`.',
  ),
  payment_credited: info('A payment was credited to its account.'),
  payment_not_credited: error(
    'A payment could not be credited: its reason is there. The service reports it again for three days.',
    'Credit it with `gateway balance add`.',
  ),
  payment_refused: warn(
    'A report of a payment was not signed as it must be.',
    'Compare `payments.stripe.signingSecret`; set the clock.',
  ),
  pending_ends_made: info('Ends of charges that an earlier process had left on the disk were made.'),
  pending_ends_no_room: error(
    'There is no room for the file of pending ends: while the database refuses changes, answers end without their last byte.',
    'Make room in the data directory, and restart.',
  ),
  price_drift: warn(
    'The price that a vendor reports for a request differs by more than 1 % from our price list. Logged once per model and day.',
    '`gateway requests show ID`, `gateway reconcile --own`; then `gateway prices update`, or set the price in the configuration.',
  ),
  request: info('A request has ended.'),
  request_bodies_lost: warn('Bodies of requests could not be kept.', 'Make room, or log fewer bodies.'),
  request_failed: warn(
    'A request failed for a reason that its caller does not see.',
    '`gateway requests show ID` and its cause; `gateway upstreams test NAME`.',
  ),
  request_malformed: warn(
    'A request looks like a probe: no client of the API sends it.',
    'Nothing, or a firewall if there are many.',
  ),
  request_rows_lost: warn(
    'Rows of the request log could not be kept.',
    'Look at the place of the request log: `gateway doctor`.',
  ),
  results_not_kept: warn('Results of a request could not be kept.', 'See `artifact_not_kept`.'),
  route_next: info('A model of a route could not answer, and the next one is tried.'),
  row_unreadable: error(
    'A row cannot be decrypted with the keys of this process.',
    'Bring the older key back in `secrets.olderKeys`.',
  ),
  replica_not_used: warn(
    'The replica is away, or too far behind: reports read the database itself.',
    'Start the replica, or look what keeps it; it is tried again by itself.',
  ),
  replica_used: info('Reports read the replica again.'),
  rows_encrypted: info('All rows are encrypted with the current key.'),
  rows_encrypting: info('Rows are being encrypted with the current key.'),
  slow_caller_cut: warn(
    'An answer was cut because too many bytes wait for callers that do not read: the slowest is cut first.',
    'Look who asks for answers and does not read them; limit the requests of the key.',
  ),
  task_end_lost: warn(
    'A task had ended already when its end was reported.',
    'Nothing: the first end stands.',
  ),
  stop_not_complete: warn(
    'A stopping process did not wait any longer for a part of its work, because its time was over.',
    'See `database_unavailable`: the next start, or another node, ends what is left.',
  ),
  task_ended: info('A video task has ended.'),
  task_id_refused: error(
    'A vendor gave a task the id of another one.',
    'Ask the vendor; `gateway tasks show ID`.',
  ),
  task_not_recovered: warn(
    'A task of a process that died could not be taken over, and is tried again.',
    'See `database_unavailable`.',
  ),
  task_not_stored_yet: warn(
    "A vendor's id of a task could not be stored, and is tried again.",
    'See `database_unavailable`.',
  ),
  task_poll_failed: warn(
    'A vendor could not be asked after a task.',
    '`gateway upstreams test NAME`; the task goes on.',
  ),
  task_poll_without_answer: warn(
    "A vendor's answer says nothing about the task.",
    '`gateway tasks show ID`; it is asked again.',
  ),
  task_results_not_deleted: warn(
    'A task was deleted, but not all of its results.',
    'Look at the rights of `artifacts`.',
  ),
  task_succeeded_late: warn(
    'A vendor reports a success after the task has failed: it is charged once.',
    "Raise the deadline of the upstream's tasks if there are many.",
  ),
  task_unknown: error(
    'It is not known whether a vendor has begun a task: see `gateway tasks reconcile`.',
    'Look at the vendor, then `gateway tasks reconcile`.',
  ),
  task_wait_failed: warn(
    'The wait for the end of a task failed; the task goes on.',
    'Its caller asks for the task again.',
  ),
  telemetry_lost: warn(
    'Traces or logs could not be sent to the collector, and were dropped.',
    'Look at the collector and `telemetry.endpoint`.',
  ),
  upstream_file_refused: warn(
    'A vendor did not give a file of a result.',
    "Allow the host in `fileHosts` of the upstream, if it is the vendor's.",
  ),
  unknown_callers_omitted: warn(
    'Requests with a missing or unknown key were counted, but have no rows and lines: a network gets 10 a minute.',
    'Block the network in your proxy or firewall if it does not stop.',
  ),
  upstream_refused_operator: error(
    "A vendor refuses the operator's account: its key, its bill, its rights.",
    '`gateway upstreams test NAME`; pay the bill, or set another key.',
  ),
  upstream_usage_invalid: warn(
    "A vendor's usage makes no sense; the request was charged by a count.",
    "`gateway requests show ID`; compare with the vendor's invoice.",
  ),
  usage_above_quote: warn(
    'A vendor counted more than a request could use by its size and its limit: hidden prompts, what its tools found, or its mistake. Tokens were paid; calls of its tools up to the hold.',
    "`gateway requests show ID`; compare with the vendor's invoice.",
  ),
  video_cut: warn('A video was cut off on its way to a caller.', 'Its caller loads it again.'),
  webhook_attempt: debug('A webhook was sent, or could not be.'),
  webhook_failed: warn(
    'A webhook could not be handled, and is tried again.',
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
