// The console's words of the page that connects clients. A page must not have words of its own.

export const connect = {
  title: 'Connect',
  address: 'Address',
  baseUrl: 'Base URL',
  withoutVersion: 'For clients that add /v1 themselves',
  client: 'Client',
  shell: 'Shell',
  model: 'Model',
  file: (path: string) => `Into the file ${path}`,
  inShell: 'In the shell',
  secretNote: (place: string) =>
    `Put your own in place of ${place}: it was shown when it was made, and is not shown again.`,
  secrets: 'Secrets',
  key: 'Key',
  rollKey: 'Replace the key',
  rollConsequence: (hint: string) =>
    `The key ${hint} is refused at once, and clients that use it fail until they have the new one. Requests that run go on. Other browsers that are signed in with it are signed out.`,
  rollWebhook: 'Replace the webhook secret',
  rollWebhookConsequence: 'Webhooks are signed with both secrets for a day, so that receivers can change.',
  newKey: 'The new key',
  newSecret: 'The new webhook secret',
} as const
