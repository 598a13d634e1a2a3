// The console's words of its sessions. A page must not have words of its own.

export const sessions = {
  title: 'Sessions',
  who: 'Who',
  kind: 'Signed in with',
  kinds: { admin: 'an admin token', key: 'a key' } as Readonly<Record<string, string>>,
  filterKinds: [
    ['admin', 'Admins'],
    ['key', 'Holders of keys'],
  ] as const,
  status: 'Status',
  began: 'Began',
  used: 'Last used',
  ends: 'Ends',
  from: 'From',
  browser: 'Browser',
  actions: 'Actions',
  end: 'End session',
  empty: 'No sessions. One begins when somebody signs in to the console.',
}
