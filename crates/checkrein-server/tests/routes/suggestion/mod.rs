mod feedback;
mod list;
