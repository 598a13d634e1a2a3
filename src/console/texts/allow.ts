// The console's words for the page on which a program is allowed to connect. A page must not have words of its own.

export const allow = {
  title: 'Connect a program',
  wants: 'wants to use the tools of this gateway. The program chose this name itself.',
  toHost: (host: string) =>
    `If you allow it, access is sent to ${host}. Allow it only if you came from there.`,
  toThisMachine: (host: string) =>
    `If you allow it, access is sent to a program on this machine, at ${host}. Allow it only if you started that program.`,
  pays: (account: string, key: string) =>
    `It spends from account ${account}, within the limits of key ${key}. It sees the balance of the account, but neither the key nor your other requests.`,
  limit: 'Limit in dollars',
  limitHint: 'The maximum it can spend in total.',
  ends: 'Access ends',
  days: (count: number) => (count === 1 ? 'in 1 day' : `in ${count} days`),
  allow: 'Allow',
  refuse: 'Refuse',
  needsKey: 'You are signed in as an operator. Sign out, and sign in with the key that should pay.',
}
