//! Where there is no Linux there is no sandbox, and nothing is run without one.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{NOT_PROTECTED, REFUSED};

pub fn sandbox(_: impl Iterator<Item = OsString>) -> ExitCode {
    eprintln!("{REFUSED}a sandbox needs Linux");
    ExitCode::from(NOT_PROTECTED)
}

pub fn sandboxed(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    sandbox(arguments)
}
