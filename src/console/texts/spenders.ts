// The console's words for spenders below a key. A part must not have words of its own.

export const spenders = {
  title: 'Spenders',
  own: 'Tokens and connected programs',
  empty: 'None: its requests name nobody, and it has no tokens.',
  noneOwn: 'None. Make tokens with POST /v1/tokens, or connect a program.',
  name: 'Name',
  kind: 'Kind',
  kinds: { browser: 'web page', mcp: 'program', user: 'end user', tag: 'tag' },
  used: 'Budget used',
  noBudget: 'no budget',
  rate: 'Requests a minute',
  expires: 'Expires',
  status: 'Status',
  actions: 'Actions',
  revoke: 'Revoke…',
  revokeTitle: (name: string) => `Revoke ${name} permanently`,
  revokeMeans: 'It is refused within a second. Requests that run continue.',
  forget: 'Forget…',
  forgetTitle: (name: string) => `Erase the name ${name}`,
  forgetMeans: (name: string) =>
    `The sums stay under an id. If a request names ${name} again, that is a new spender with a new budget.`,
}
