mod create;
mod list;
mod revoke;
