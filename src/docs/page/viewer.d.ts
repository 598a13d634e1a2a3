// The script of the page is for browsers: the program only hands its text on, and must never run it.

declare const text: string
export default text
