mod list;
mod show;
