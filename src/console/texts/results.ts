// The console's words for kept results, wherever they are shown. A page must not have words of its own.

export const results = {
  picture: 'Kept picture',
  enlarge: 'Enlarge the kept picture',
  video: 'Kept video',
  sound: 'Kept sound',
  file: (type: string, size: string) => `${type}, ${size}`,
  until: 'kept until',
}
